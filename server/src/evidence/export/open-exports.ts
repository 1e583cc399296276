import { readFileSync } from 'node:fs'
import type { Log } from '../../operations/log/create-log.ts'
import { createBackgroundTask, type BackgroundTask } from '../../platform/background-task.ts'
import { ConfigError } from '../../platform/config-error.ts'
import type { Sources } from '../../platform/sources.ts'
import type { Store } from '../../store/store.ts'
import { describeRows } from '../audit/audited-devices.ts'
import type { EvidenceStore } from '../store/evidence-store.ts'
import { createExporter, type Exporter } from './exporter.ts'
import type { ExportSettings } from './export-settings.ts'
import { createOtlpReceiver } from './otlp-receiver.ts'
import type { Receiver } from './receiver.ts'
import { createSyslogReceiver } from './syslog-receiver.ts'

/** The exporters of this server, and the task that makes them known to the evidence. */
export interface Exports {
  readonly exporters: readonly Exporter[]
  readonly task: BackgroundTask
}

/** Throws ConfigError when the certificates cannot be read. */
export function openExports({
  settings,
  evidence,
  store,
  version,
  log,
  sources,
}: {
  readonly settings: ExportSettings
  readonly evidence: EvidenceStore
  readonly store: Pick<Store, 'read'>
  readonly version: string
  readonly log: Log
  readonly sources: Pick<Sources, 'monotonicMs' | 'newId' | 'now'>
}): Exports {
  const { otlp, syslog, caFile } = settings
  const { now, newId, monotonicMs } = sources
  const ca = caFile === null ? null : readAuthorities(caFile)
  const receivers: [string, Receiver][] = []
  if (otlp !== null) receivers.push(['otlp', createOtlpReceiver({ ...otlp, ca }, { version, now })])
  if (syslog !== null) receivers.push(['syslog', createSyslogReceiver({ ...syslog, ca })])
  const holder = newId()
  const exporters = receivers.map(([name, receiver]) =>
    createExporter({
      name,
      receiver,
      evidence,
      describe: (rows) => describeRows(store, rows),
      holder,
      random: Math.random,
      log,
      now,
      monotonicMs,
    }),
  )
  return { exporters, task: startTogether(exporters, evidence, log) }
}

function readAuthorities(file: string): string {
  try {
    const text = readFileSync(file, 'utf8')
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  } catch {
    throw new ConfigError([`\`PALISADE_EXPORT_CA\` cannot be read: \`${file}\``])
  }
  throw new ConfigError([`\`PALISADE_EXPORT_CA\` holds no certificate (PEM): \`${file}\``])
}

/** How long until the evidence is asked again after a failure. */
const AGAIN_MS = 5_000

/** Starts the exporters once the evidence knows them. */
function startTogether(
  exporters: readonly Exporter[],
  evidence: Pick<EvidenceStore, 'setExporters'>,
  log: Log,
): BackgroundTask {
  async function setExporters(): Promise<void> {
    const left = await evidence.setExporters(exporters.map(({ name }) => name))
    if (left > 0)
      log.warn(
        { records: left },
        'records of an export that is not configured any more are left out',
      )
    for (const each of exporters) each.start()
  }
  // One at a time: an exporter that is started twice would send everything twice.
  let known: Promise<void> | null = null
  const makeKnown = (): Promise<void> =>
    (known ??= setExporters().catch((err: unknown) => {
      known = null
      log.warn({ err }, 'the export of records cannot begin')
    }))
  const again = createBackgroundTask({ intervalMs: AGAIN_MS, run: makeKnown, onError: () => {} })
  return {
    start() {
      void makeKnown()
      again.start()
    },
    async stop() {
      await again.stop()
      await known
      await Promise.all(exporters.map((each) => each.stop()))
    },
  }
}
