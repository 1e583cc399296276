import type { SpanExporter } from '@opentelemetry/sdk-trace'
import type { Log } from '../log/create-log.ts'

/** `ExportResultCode.SUCCESS` of @opentelemetry/core. */
const SUCCESS = 0

/**
 * The same exporter; the log hears when it begins to fail and when it works again, not each time.
 * The exporter's own words are left out: they may quote the address and headers of the collector.
 */
export function reportExport(exporter: SpanExporter, log: Log): SpanExporter {
  let isFailing = false
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const code: number = result.code
        const hasFailed = code !== SUCCESS
        if (hasFailed && !isFailing) log.warn('traces cannot be exported; they are dropped')
        if (!hasFailed && isFailing) log.info('traces are exported again')
        isFailing = hasFailed
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}
