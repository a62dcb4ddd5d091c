import { Badge } from "../../ui/badge.tsx";
import { Icon } from "../../ui/icons.tsx";
import type { Tone } from "../../ui/words.ts";
import { type Diagnosis, type Goodness, trialText } from "./examination.ts";

const WORDS: Record<Goodness, { word: string; tone: Tone }> = {
  good: { word: "good", tone: "good" },
  fair: { word: "fair", tone: "warn" },
  bad: { word: "bad", tone: "bad" },
};

const PENS: Record<string, string> = {
  cgroup: "A control group: the kernel itself knows who is in it",
  subtree: "The tree of processes below the keeper",
  pidns: "A namespace of process ids: it ends with its first process",
};

/** What the doctor found. */
export function Report({ diagnosis }: { diagnosis: Diagnosis }) {
  return (
    <>
      <Soundness diagnosis={diagnosis} />
      <div class="doctor-columns">
        <div class="stack">
          <section class="card" aria-labelledby="doctor-pens">
            <header>
              <h2 id="doctor-pens">Pens on trial</h2>
            </header>
            <ul class="findings">
              {diagnosis.pens.map((trial) => (
                <li key={trial.kind}>
                  <Badge tone={trial.works ? "good" : "quiet"} word={trial.works ? "holds" : "not here"} />
                  <span>
                    <strong class="foreign">{trial.kind}</strong> <span class="foreign">{trialText(trial)}</span>
                    <span class="muted small about">{PENS[trial.kind]}</span>
                  </span>
                </li>
              ))}
            </ul>
          </section>
          <Sentences title="What can't be promised" id="doctor-promise" lines={diagnosis.cannot_promise} />
          <Sentences title="To get better" id="doctor-advice" lines={diagnosis.advice} />
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
            <strong>Sound.</strong> A session gets a <strong class="foreign">{diagnosis.pen}</strong> pen: whatever it starts ends with it.
          </>
        ) : (
          <>
            <strong>Not sound.</strong> No pen that holds is possible on this machine.
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
