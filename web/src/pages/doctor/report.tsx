import { Badge } from "../../ui/badge.tsx";
import { Icon } from "../../ui/icons.tsx";
import type { Tone } from "../../ui/labels.ts";
import { type Diagnosis, type FindingState, penCheckText } from "./diagnosis.ts";

const WORDS: Record<FindingState, { word: string; tone: Tone }> = {
  good: { word: "good", tone: "good" },
  fair: { word: "limited", tone: "warn" },
  bad: { word: "bad", tone: "bad" },
};

const PENS: Record<string, string> = {
  cgroup: "Control group: the kernel tracks its processes",
  subtree: "The process tree below the keeper",
  pidns: "PID namespace: all processes end with the first one",
};

/** Shows the report of the doctor. */
export function Report({ diagnosis }: { diagnosis: Diagnosis }) {
  return (
    <>
      <Soundness diagnosis={diagnosis} />
      <div class="doctor-columns">
        <div class="stack">
          <section class="card" aria-labelledby="doctor-pens">
            <header>
              <h2 id="doctor-pens">Isolation checks</h2>
            </header>
            <ul class="findings">
              {diagnosis.pens.map((trial) => (
                <li key={trial.kind}>
                  <Badge tone={trial.works ? "good" : "quiet"} word={trial.works ? "works" : "unavailable"} />
                  <span>
                    <strong class="foreign">{trial.kind}</strong> <span class="foreign">{penCheckText(trial)}</span>
                    <span class="muted small about">{PENS[trial.kind]}</span>
                  </span>
                </li>
              ))}
            </ul>
          </section>
          <Sentences title="Limitations" id="doctor-promise" lines={diagnosis.cannot_promise} />
          <Sentences title="Suggestions" id="doctor-advice" lines={diagnosis.advice} />
        </div>
        <section class="card" aria-labelledby="doctor-findings">
          <header>
            <h2 id="doctor-findings">Findings</h2>
          </header>
          <ul class="findings">
            {diagnosis.findings.map((finding) => (
              <li key={finding.id}>
                <Badge {...WORDS[finding.state]} />
                <span>
                  <strong class="foreign">{finding.id}</strong> <span class="foreign">{finding.found}</span>
                </span>
              </li>
            ))}
          </ul>
        </section>
      </div>
    </>
  );
}

function Soundness({ diagnosis }: { diagnosis: Diagnosis }) {
  return (
    <div class={`note soundness ${diagnosis.sound ? "good" : "bad"}`}>
      <Icon name={diagnosis.sound ? "check" : "alert"} />
      <p>
        {diagnosis.sound ? (
          <>
            <strong>All good.</strong> Sessions use <strong class="foreign">{diagnosis.pen}</strong> pens: every process ends with its session.
          </>
        ) : (
          <>
            <strong>Problem found.</strong> No reliable pen is available on this machine.
          </>
        )}
      </p>
    </div>
  );
}

function Sentences({ title, id, lines }: { title: string; id: string; lines: string[] }) {
  if (lines.length === 0) return null;
  return (
    <section class="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
      </header>
      <ul class="body sentences">
        {lines.map((line) => (
          <li class="foreign" key={line}>
            {line}
          </li>
        ))}
      </ul>
    </section>
  );
}
