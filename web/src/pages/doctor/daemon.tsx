import type { DaemonView, SettingsView } from "../../api/types.ts";
import { useFetched } from "../../state/fetched.ts";
import { Age } from "../../ui/age.tsx";
import { bytes, duration, formatTime } from "../../ui/format.ts";
import { Failed, Loading } from "../../ui/states.tsx";

const EVERY_MS = 5000;

/** Shows facts about the daemon and its settings. */
export function DaemonFacts() {
  const { value, error, refetch } = useFetched<DaemonView>("/v1/daemon", { every: EVERY_MS });
  const daemon = value.value;
  return (
    <section class="card" aria-labelledby="doctor-daemon">
      <header>
        <h2 id="doctor-daemon">Daemon</h2>
      </header>
      <div class="body">
        {daemon === null && error.value !== null && <Failed what="Couldn’t load the daemon’s status" error={error.value} retry={refetch} />}
        {daemon === null && error.value === null && <Loading what="Loading…" />}
        {daemon && (
          <dl class="facts">
            <dt>Version</dt>
            <dd class="foreign">{daemon.version}</dd>
            <dt>Uptime</dt>
            <dd>
              <Age since={daemon.started_at} /> <span class="muted">since {formatTime(daemon.started_at)}</span>
            </dd>
            <dt>PID</dt>
            <dd>
              {daemon.pid} <span class="muted">{daemon.yard_pid === null ? "no yard" : `yard PID ${daemon.yard_pid}`}</span>
            </dd>
            <dt>Home</dt>
            <dd class="mono foreign">{daemon.home}</dd>
            <dt>Sessions</dt>
            <dd>
              {daemon.live.toLocaleString("en")} live, {daemon.total.toLocaleString("en")} recorded
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
      <dt>Max. live sessions</dt>
      <dd>
        {settings.max_live === null ? "unlimited" : settings.max_live}
        {byName.length > 0 && <span class="muted foreign"> · {byName.map(([name, limit]) => `${name}: ${limit}`).join(", ")}</span>}
      </dd>
      <dt>Max. concurrent launches</dt>
      <dd>{settings.max_launching === null ? "unlimited" : settings.max_launching}</dd>
      <dt>Reserved</dt>
      <dd>
        {bytes(settings.min_free_disk)} disk, {bytes(settings.min_free_memory)} memory
      </dd>
      <dt>Ended sessions kept</dt>
      <dd>{settings.ended_kept.toLocaleString("en")}</dd>
      <dt>Idempotency keys kept for</dt>
      <dd>{duration(settings.key_retention_ms)}</dd>
      <dt>Worktree folder</dt>
      <dd class="mono foreign">{settings.worktrees}</dd>
    </>
  );
}
