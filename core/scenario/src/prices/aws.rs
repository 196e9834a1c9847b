//! Amazon Web Services. Bytes between zones are charged to the sender and to the receiver.

use super::Check::{Memory, Seen};
use super::{Book, Item, Price, Unit};

/// (Of us-east-1 the same prices, rounded, were seen second-hand in a list of 2020-03.)
const EC2: [&str; 2] = ["2024-06", "aws.amazon.com/ec2/pricing/on-demand"];
const EBS: [&str; 2] = ["2024-06", "aws.amazon.com/ebs/pricing"];
const BALANCER: [&str; 2] = ["2024-06", "aws.amazon.com/elasticloadbalancing/pricing"];
const BUCKET: [&str; 2] = ["2024-06", "aws.amazon.com/s3/pricing"];
const TRANSFER: [&str; 2] =
    ["2024-06", "vendors' blogs and documentation, after aws.amazon.com/ec2/pricing/on-demand (data transfer)"];
/// Capacity units (NLCU) are charged by what needs most of them: with TCP a GB in an hour is one.
const THROUGH: Price =
    Price::new(Item::LoadBalancerBytes, "Network Load Balancer, NLCU (1 GB)", 0.006, Unit::Gb, BALANCER, Memory);
const STORED: Price = Price::new(Item::BackupStorage, "S3 Standard", 0.023, Unit::GibMonth, BUCKET, Memory);
const PUT: Price = Price::new(Item::BackupRequests, "S3 Standard, PUT", 0.005, Unit::Requests, BUCKET, Memory);
const SIZE: Item = Item::Volume { up_to: None };
const OUT: Price = Price::new(Item::CrossZoneOut, "data transfer out to another zone", 0.01, Unit::Gb, TRANSFER, Seen);
const IN: Price = Price::new(Item::CrossZoneIn, "data transfer in from another zone", 0.01, Unit::Gb, TRANSFER, Seen);

/// Europe (Ireland).
pub(super) const EU_WEST_1: Book = Book {
    name: "aws-eu-west-1",
    provider: "aws",
    region: "eu-west-1",
    prices: &[
        Price::machine(2, 8, "m5.large", 0.107, EC2),
        Price::machine(4, 16, "m5.xlarge", 0.214, EC2),
        Price::machine(8, 32, "m5.2xlarge", 0.428, EC2),
        Price::machine(16, 64, "m5.4xlarge", 0.856, EC2),
        Price::new(SIZE, "gp3", 0.088, Unit::GibMonth, EBS, Memory),
        Price::new(Item::LoadBalancerHours, "Network Load Balancer", 0.0252, Unit::Hour, BALANCER, Memory),
        THROUGH,
        OUT,
        IN,
        STORED,
        PUT,
    ],
};

/// US East (N. Virginia).
pub(super) const US_EAST_1: Book = Book {
    name: "aws-us-east-1",
    provider: "aws",
    region: "us-east-1",
    prices: &[
        Price::machine(2, 8, "m5.large", 0.096, EC2),
        Price::machine(4, 16, "m5.xlarge", 0.192, EC2),
        Price::machine(8, 32, "m5.2xlarge", 0.384, EC2),
        Price::machine(16, 64, "m5.4xlarge", 0.768, EC2),
        Price::new(SIZE, "gp3", 0.08, Unit::GibMonth, ["2020-12", "the announcement of gp3 in the AWS News Blog"], Seen),
        Price::new(Item::LoadBalancerHours, "Network Load Balancer", 0.0225, Unit::Hour, BALANCER, Memory),
        THROUGH,
        OUT,
        IN,
        STORED,
        PUT,
    ],
};
