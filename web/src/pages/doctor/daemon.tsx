import type { DaemonView, SettingsView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { Age } from "../../ui/age.tsx";
import { bytes, counted, duration, moment } from "../../ui/format.ts";
import { Failed, Loading } from "../../ui/states.tsx";

const EVERY_MS = 5000;

/** The daemon itself: what it is, and whether it can do its work. */
export function DaemonFacts() {
  const { value, error, again } = useFetched<DaemonView>("/v1/daemon", { every: EVERY_MS });
  const daemon = value.value;
  return (
    <section class="card" aria-labelledby="doctor-daemon">
      <header>
        <h2 id="doctor-daemon">Daemon</h2>
      </header>
      <div class="body">
        {daemon === null && error.value !== null && <Failed what="The daemon does not tell" error={error.value} again={again} />}
        {daemon === null && error.value === null && <Loading what="Asking…" />}
        {daemon && (
          <dl class="facts">
            <dt>Version</dt>
            <dd class="foreign">{daemon.version}</dd>
            <dt>Runs for</dt>
            <dd>
              <Age since={daemon.started_at} /> <span class="muted">since {moment(daemon.started_at)}</span>
            </dd>
            <dt>Pid</dt>
            <dd>
              {daemon.pid} <span class="muted">{daemon.yard_pid === null ? "without a yard" : `below yard ${daemon.yard_pid}`}</span>
            </dd>
            <dt>Home</dt>
            <dd class="mono foreign">{daemon.home}</dd>
            <dt>Sessions</dt>
            <dd>
              {daemon.live.toLocaleString("en")} live, {daemon.total.toLocaleString("en")} on record
            </dd>
            {daemon.listen && (
              <>
                <dt>API over TCP</dt>
                <dd class="foreign">
                  {daemon.listen.address}
                  {daemon.listen.why && <span class="muted"> {daemon.listen.why}</span>}
                </dd>
              </>
            )}
            {daemon.settings && <Settings settings={daemon.settings} />}
          </dl>
        )}
      </div>
    </section>
  );
}

function Settings({ settings }: { settings: SettingsView }) {
  const byName = Object.entries(settings.max_live_by_name);
  return (
    <>
      <dt>Live at once</dt>
      <dd>
        {settings.max_live === null ? "any number" : `at most ${settings.max_live}`}
        {byName.length > 0 && <span class="muted foreign"> · {byName.map(([name, most]) => `${name}: ${most}`).join(", ")}</span>}
      </dd>
      <dt>Launched at once</dt>
      <dd>{settings.max_launching === null ? "any number" : `at most ${settings.max_launching}`}</dd>
      <dt>Kept free</dt>
      <dd>
        {bytes(settings.min_free_disk)} of disk, {bytes(settings.min_free_memory)} of memory
      </dd>
      <dt>Ended ones kept</dt>
      <dd>{counted(settings.ended_kept, "session")}</dd>
      <dt>Keys stand for</dt>
      <dd>{duration(settings.key_retention_ms)}</dd>
      <dt>Worktrees</dt>
      <dd class="mono foreign">{settings.worktrees}</dd>
    </>
  );
}
