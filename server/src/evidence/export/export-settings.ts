import { resolve } from 'node:path'
import { z } from 'zod'

/** RFC 9110, §5.6.2 and §5.5. */
const HEADER = /^[!#$%&'*+.^_`|~\w-]{1,128}=[\x20-\x7e]{0,4096}$/
/** Set by the exporter itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'host',
  'transfer-encoding',
])

/** The settings of the export of decision records. */
export const exportSchema = z.object({
  PALISADE_EXPORT_OTLP_URL: z
    .string()
    .refine(
      isLogsUrl,
      'must be the URL of OTLP logs such as `https://collector.example:4318/v1/logs`',
    )
    .optional(),
  PALISADE_EXPORT_OTLP_HEADERS: z.string().default('').transform(readHeaders),
  PALISADE_EXPORT_SYSLOG: z
    .string()
    .refine(isSyslogUrl, 'must be `tls://host:port` or `tcp://host:port`, without a path')
    .optional(),
  PALISADE_EXPORT_CA: z.string().min(1, 'must be the path of a PEM file').optional(),
})

/** Where decision records are exported to. */
export interface ExportSettings {
  readonly otlp: {
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
  } | null
  readonly syslog: { readonly host: string; readonly port: number; readonly tls: boolean } | null
  /** Absolute path of the certificates to trust; null for the usual ones. */
  readonly caFile: string | null
}

export function readExport(settings: z.infer<typeof exportSchema>, cwd: string): ExportSettings {
  const { PALISADE_EXPORT_OTLP_URL: url, PALISADE_EXPORT_SYSLOG: syslog } = settings
  const { PALISADE_EXPORT_CA: caFile } = settings
  return {
    otlp: url === undefined ? null : { url, headers: settings.PALISADE_EXPORT_OTLP_HEADERS },
    syslog: syslog === undefined ? null : readSyslog(syslog),
    caFile: caFile === undefined ? null : resolve(cwd, caFile),
  }
}

function isLogsUrl(text: string): boolean {
  // Credentials belong into a header, and a fragment is never sent.
  return /^https?:\/\/[^/\\?#@\s]+\/[^#\s]*$/.test(text) && URL.canParse(text)
}

function isSyslogUrl(text: string): boolean {
  if (!/^(?:tcp|tls):\/\/[^/\\?#@\s]+:\d{1,5}$/.test(text) || !URL.canParse(text)) return false
  const { port } = readSyslog(text)
  return port >= 1 && port <= 65_535
}

function readSyslog(text: string): { host: string; port: number; tls: boolean } {
  const { protocol, hostname, port } = new URL(text)
  // An IPv6 address has brackets in a URL only.
  return { host: hostname.replaceAll(/[[\]]/g, ''), port: Number(port), tls: protocol === 'tls:' }
}

/** `name=value,name=value`, the values percent-encoded as those of `OTEL_EXPORTER_OTLP_HEADERS`. */
function readHeaders(text: string, context: z.RefinementCtx): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  for (const part of text.split(',').filter((each) => each.trim() !== '')) {
    const pair = decode(part.trim())
    const [name = '', ...value] = pair.split('=')
    if (!HEADER.test(pair) || OWN_HEADERS.has(name.toLowerCase())) {
      context.addIssue({
        code: 'custom',
        message: 'must be headers such as `authorization=Bearer%20TOKEN`, separated by commas',
      })
      return z.NEVER
    }
    headers[name.toLowerCase()] = value.join('=')
  }
  return headers
}

/** Empty, and so refused, for a text that is not percent-encoded. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
