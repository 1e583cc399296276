import type { Log } from '../operations/log/create-log.ts'
import type { Metrics } from '../operations/metrics/create-metrics.ts'
import type { BackgroundTask } from '../platform/background-task.ts'
import type { Sources } from '../platform/sources.ts'
import { readVersion } from '../platform/version.ts'
import type { Store } from '../store/store.ts'
import type { ExportSettings } from './export/export-settings.ts'
import { openExports } from './export/open-exports.ts'
import { createEvidenceRetention } from './retention.ts'
import type { EvidenceStore } from './store/evidence-store.ts'

/** The removal of old evidence, and its export. Throws ConfigError for files of the settings. */
export function openEvidenceJobs({
  config,
  metrics,
  ...deps
}: {
  readonly config: { readonly evidenceDays: number; readonly exports: ExportSettings }
  readonly evidence: EvidenceStore
  readonly store: Pick<Store, 'read'>
  readonly metrics: Pick<Metrics, 'watchExports'>
  readonly log: Log
  readonly sources: Sources
}): readonly BackgroundTask[] {
  const { now } = deps.sources
  const retention = createEvidenceRetention({ ...deps, days: config.evidenceDays, now })
  const exports = openExports({ ...deps, settings: config.exports, version: readVersion() })
  metrics.watchExports(() => ({
    exporters: exports.exporters,
    neverExported: retention.neverExported(),
    nowMs: now().getTime(),
  }))
  return [retention, exports.task]
}
