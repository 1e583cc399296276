import { Counter, Gauge, type Registry } from 'prom-client'

/** Figures of the export of decision records; counts are those since the start. */
export interface ExportFigures {
  readonly exporters: readonly {
    readonly name: string
    readonly counts: {
      readonly exported: number
      readonly rejected: number
      readonly failures: number
      readonly pending: number
      /** Epoch milliseconds. */
      readonly oldestMs: number | null
    }
  }[]
  readonly neverExported: number
  /** Epoch milliseconds. */
  readonly nowMs: number
}

/** `palisade_export_…{exporter}` */
export function exposeExports(registry: Registry, read: () => ExportFigures): void {
  const registers = [registry]
  const labelNames = ['exporter']
  const counter = (name: string, help: string, of: 'exported' | 'failures' | 'rejected') =>
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset()
        for (const { name: exporter, counts } of read().exporters)
          this.inc({ exporter }, counts[of])
      },
    })
  counter('palisade_export_records_total', 'Decision records that a receiver took', 'exported')
  counter('palisade_export_rejected_total', 'Decision records that a receiver refused', 'rejected')
  counter('palisade_export_failures_total', 'Failed attempts to export', 'failures')
  const gauge = (name: string, help: string, of: (figures: ExportFigures, at: number) => number) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        const figures = read()
        for (const [at, { name: exporter }] of figures.exporters.entries())
          this.set({ exporter }, of(figures, at))
      },
    })
  gauge(
    'palisade_export_pending_records',
    'Decision records that wait for their export',
    (all, at) => all.exporters[at]?.counts.pending ?? 0,
  )
  gauge('palisade_export_lag_seconds', 'Age of the oldest record that waits', (all, at) => {
    const oldest = all.exporters[at]?.counts.oldestMs ?? null
    return oldest === null ? 0 : Math.max(0, all.nowMs - oldest) / 1000
  })
  // oxlint-disable-next-line no-new -- it registers itself
  new Counter({
    name: 'palisade_export_dropped_total',
    help: 'Decision records that the retention removed before their export',
    registers,
    collect() {
      this.reset()
      this.inc(read().neverExported)
    },
  })
}
