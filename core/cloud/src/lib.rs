//! The cloud that machines and volumes come from: it does what it is asked for, unless a fault has it answer otherwise or it has no
//! such machine left. (How long it takes is the affair of those who ask.)

use std::collections::BTreeMap;

use zonefall_kernel::integral::Integral;
use zonefall_kernel::rng::Stream;
use zonefall_kernel::time::Time;
use zonefall_scenario::ids::{FaultId, KubeClusterId, MachineDeploymentId, ZoneId};
use zonefall_scenario::kube::MachineDeployment;
use zonefall_scenario::{CloudAnswer, Scenario};

/// A fault of its API ([`Fault::CloudApi`](zonefall_scenario::Fault::CloudApi)).
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    /// The zone it is about; `None`: all.
    pub zone: Option<ZoneId>,
    /// Answer to creations.
    pub create: Option<CloudAnswer>,
    /// Answer to deletions, and to who asks how a machine is.
    pub delete: Option<CloudAnswer>,
    /// Answer to who attaches or detaches a volume.
    pub attach: Option<CloudAnswer>,
    /// Share of these calls that fails, above 0 and up to 1.
    pub error_rate: f64,
    /// Which of them: a draw for each call.
    pub draws: Stream,
}

/// The cloud.
#[derive(Clone, Debug)]
pub struct Cloud {
    /// Failures, and how many calls each was asked about.
    failures: Vec<(FaultId, Failure, u64)>,
    stock: Vec<u32>,
    /// How long machines have been there, by machine deployment: what is charged for.
    machines: BTreeMap<(KubeClusterId, MachineDeploymentId), Integral>,
}

impl Cloud {
    /// One without faults, with the machines of the start.
    pub fn new(scenario: &Scenario) -> Self {
        let machines = BTreeMap::new();
        let mut cloud = Self { failures: Vec::new(), stock: scenario.kube.stock.clone(), machines };
        for (cluster, spec) in scenario.kube.clusters.iter_enumerated() {
            for machine in spec.nodes.iter().filter_map(|node| node.machine) {
                cloud.switched_on(cluster, machine.deployment, Time::ZERO);
            }
        }
        cloud
    }

    /// A machine is there.
    pub fn switched_on(&mut self, cluster: KubeClusterId, deployment: MachineDeploymentId, now: Time) {
        self.machines.entry((cluster, deployment)).or_default().add(now);
    }

    /// A machine is there no more.
    pub fn switched_off(&mut self, cluster: KubeClusterId, deployment: MachineDeploymentId, now: Time) {
        self.machines.entry((cluster, deployment)).or_default().remove(now);
    }

    /// How long machines have been there, all together, whether they worked or not: nanoseconds by machine deployment.
    pub fn machine_time(&self, now: Time) -> impl Iterator<Item = (KubeClusterId, MachineDeploymentId, u128)> {
        self.machines.iter().map(move |((cluster, deployment), machines)| (*cluster, *deployment, machines.at(now)))
    }

    /// Its API fails.
    pub fn fail(&mut self, id: FaultId, failure: Failure) {
        self.failures.push((id, failure, 0));
    }

    /// One failure less.
    pub fn repair(&mut self, id: FaultId) {
        self.failures.retain(|(own, ..)| *own != id);
    }

    /// The answer of the failure that came last, of those that this call meets.
    fn answer(&mut self, zone: ZoneId, call: impl Fn(&Failure) -> Option<CloudAnswer>) -> Result<(), CloudAnswer> {
        let here = self.failures.iter_mut().rev().filter(|(_, failure, _)| failure.zone.is_none_or(|only| only == zone));
        for (_, failure, calls) in here {
            let Some(answer) = call(failure) else { continue };
            *calls += 1;
            if failure.draws.draw(*calls).unit() < failure.error_rate {
                return Err(answer);
            }
        }
        Ok(())
    }

    /// Takes a machine out of stock.
    ///
    /// # Errors
    /// Why there is none.
    pub fn create(&mut self, deployment: &MachineDeployment) -> Result<(), CloudAnswer> {
        self.answer(deployment.zone, |failure| failure.create)?;
        if let Some(stock) = deployment.stock {
            let left = &mut self.stock[stock as usize];
            *left = left.checked_sub(1).ok_or(CloudAnswer::OutOfStock)?;
        }
        Ok(())
    }

    /// Whether it tells how a machine is, and deletes it.
    ///
    /// # Errors
    /// Why not.
    pub fn manages(&mut self, zone: ZoneId) -> Result<(), CloudAnswer> {
        self.answer(zone, |failure| failure.delete)
    }

    /// A machine that was deleted is in stock again.
    pub fn take_back(&mut self, deployment: &MachineDeployment) {
        if let Some(stock) = deployment.stock {
            self.stock[stock as usize] += 1;
        }
    }

    /// Whether it attaches and detaches volumes.
    ///
    /// # Errors
    /// Why not.
    pub fn attaches(&mut self, zone: ZoneId) -> Result<(), CloudAnswer> {
        self.answer(zone, |failure| failure.attach)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonefall_kernel::rng::Purpose;
    use zonefall_scenario::kube::{NodeTemplate, PoolShare, Resources, Rollout};
    use zonefall_scenario::testing::three_zones;

    #[test]
    fn faults_and_stock_decide() {
        let mut scenario = three_zones();
        scenario.kube.stock = vec![1];
        let allocatable = Resources { cpu_milli: 1, memory: 1, pods: 1 };
        let template =
            NodeTemplate { labels: [].into_iter().collect(), taints: Vec::new(), allocatable, volumes: 25, card_bytes_per_s: 1 };
        let (name, zone) = ("pool".to_owned(), ZoneId(1));
        let pool = PoolShare { zone: (0, 1), minimum: 0, maximum: 9, rollout: Rollout::default() };
        let deployment = MachineDeployment {
            name,
            zone,
            template,
            minimum: 0,
            maximum: 9,
            pool,
            stock: Some(0),
            added: false,
            scale_down_disabled: false,
        };
        let mut cloud = Cloud::new(&scenario);
        let draws = Stream::new(1, Purpose::Fault, 0);
        let none = Failure { zone: None, create: None, delete: None, attach: None, error_rate: 1.0, draws };
        cloud.fail(FaultId(0), Failure { create: Some(CloudAnswer::Refused), ..none });
        cloud.fail(FaultId(1), Failure { zone: Some(ZoneId(1)), delete: Some(CloudAnswer::Unavailable), ..none });
        assert_eq!(cloud.create(&deployment), Err(CloudAnswer::Refused));
        assert_eq!(cloud.manages(ZoneId(1)), Err(CloudAnswer::Unavailable));
        assert_eq!((cloud.manages(ZoneId(0)), cloud.attaches(ZoneId(1))), (Ok(()), Ok(())));
        cloud.fail(FaultId(2), Failure { create: Some(CloudAnswer::Unavailable), ..none });
        assert_eq!(cloud.create(&deployment), Err(CloudAnswer::Unavailable));
        cloud.repair(FaultId(2));
        cloud.repair(FaultId(0));
        assert_eq!((cloud.create(&deployment), cloud.create(&deployment)), (Ok(()), Err(CloudAnswer::OutOfStock)));
        cloud.take_back(&deployment);
        assert_eq!(cloud.create(&deployment), Ok(()));
    }

    #[test]
    fn share_of_the_calls_fails_and_the_failures_before_answer_the_others() {
        let mut cloud = Cloud::new(&three_zones());
        let draws = |fault| Stream::new(7, Purpose::Fault, fault);
        let none = Failure { zone: None, create: None, delete: None, attach: None, error_rate: 1.0, draws: draws(0) };
        let (refused, unavailable) = (Some(CloudAnswer::Refused), Some(CloudAnswer::Unavailable));
        let share = |cloud: &mut Cloud, zone| {
            let answers: Vec<_> = (0..10_000).map(|_| cloud.attaches(ZoneId(zone))).collect();
            [Ok(()), Err(CloudAnswer::Refused), Err(CloudAnswer::Unavailable)]
                .map(|expected| answers.iter().filter(|answer| **answer == expected).count() as f64 / 10_000.0)
        };
        cloud.fail(FaultId(0), Failure { attach: unavailable, zone: Some(ZoneId(1)), error_rate: 0.5, ..none });
        cloud.fail(FaultId(1), Failure { attach: refused, error_rate: 0.2, draws: draws(1), ..none });
        let [works, refused, unavailable] = share(&mut cloud, 1);
        // 10,000 calls: a standard deviation is at most 0.005.
        assert!((works - 0.4).abs() < 0.02 && (refused - 0.2).abs() < 0.02 && (unavailable - 0.4).abs() < 0.02);
        let [works, refused, unavailable] = share(&mut cloud, 0);
        assert!((works - 0.8).abs() < 0.02 && (refused - 0.2).abs() < 0.02 && unavailable == 0.0);
        assert_eq!(cloud.manages(ZoneId(1)), Ok(()), "what is not named goes on as before");
    }
}
