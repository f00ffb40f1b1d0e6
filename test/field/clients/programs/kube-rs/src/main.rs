//! Asks the API server for its version, again and again, with the configuration that kube-rs finds in a pod. Prints one line
//! whenever the outcome changes, and when its CA file does.
use kube::{Client, Config};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const CA: &str = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";

fn say(what: &str, count: u64, why: &str) {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let why = why.replace(['"', '\\', '\n'], " ");
    println!("{{\"at\":{at},\"what\":\"{what}\",\"count\":{count},\"why\":\"{why}\"}}");
}

/// The whole chain of causes: the reason is at its end.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut inner = error.source();
    while let Some(cause) = inner {
        text = format!("{text}: {cause}");
        inner = cause.source();
    }
    text
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::try_from(Config::incluster()?)?;
    let mut file = std::fs::read(CA)?;
    let (mut last, mut count) = (None, 0);
    loop {
        let asked = tokio::time::timeout(Duration::from_secs(5), client.apiserver_version()).await;
        let outcome = match asked {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(causes(&error)),
            Err(_) => Err("no answer within 5 s".to_string()),
        };
        count += 1;
        if last != Some(outcome.is_ok()) {
            last = Some(outcome.is_ok());
            match &outcome {
                Ok(()) => say("ok", count, ""),
                Err(why) => say("failed", count, why),
            }
        }
        if let Ok(now) = std::fs::read(CA)
            && now != file
        {
            file = now;
            say("file", count, "");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
