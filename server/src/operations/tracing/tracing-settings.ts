import { z } from 'zod'

const httpUrl = z
  .string()
  .refine((text) => text === '' || isHttpUrl(text), 'must be a URL such as `http://127.0.0.1:4318`')
  .default('')

/**
 * Settings by the names of OpenTelemetry, where an empty value counts as absent; its exporter reads
 * the rest.
 */
export const tracingSchema = z.object({
  OTEL_TRACES_EXPORTER: z.enum(['', 'otlp', 'none'], { error: 'must be otlp or none' }).default(''),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl,
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl,
  OTEL_SERVICE_NAME: z.string().default(''),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(|0|1|0?\.\d{1,9}|[01]\.0{0,9})$/, 'must be a number from 0 to 1')
    .default(''),
})

/** Null while traces are neither recorded nor exported. */
export interface TracingSettings {
  readonly serviceName: string
  /** Share of the traces that are recorded, from 0 to 1. */
  readonly ratio: number
}

export function readTracing(settings: z.infer<typeof tracingSchema>): TracingSettings | null {
  const { OTEL_TRACES_EXPORTER: exporter, OTEL_TRACES_SAMPLER_ARG: ratio } = settings
  const hasEndpoint =
    settings.OTEL_EXPORTER_OTLP_ENDPOINT !== '' ||
    settings.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== ''
  if (exporter === 'none' || (exporter === '' && !hasEndpoint)) return null
  return {
    serviceName: settings.OTEL_SERVICE_NAME || 'palisade-server',
    ratio: ratio === '' ? 1 : Number(ratio),
  }
}

function isHttpUrl(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text)
}
