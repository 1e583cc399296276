import { request as requestPlain, Agent as PlainAgent, type IncomingMessage } from 'node:http'
import { Agent as TlsAgent, request as requestTls } from 'node:https'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { formatOtlpLogs } from './otlp-logs.ts'
import { failed, SEND_TIMEOUT_MS, type Receipt, type Receiver } from './receiver.ts'

const pack = promisify(gzip)
const MAX_ANSWER_BYTES = 64 * 1024
/** Answers after which the records themselves are at fault (OTLP: not retryable). */
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 422])
const LONGEST_WAIT_MS = 15 * 60_000

export interface OtlpSettings {
  /** Where logs are posted, such as `https://collector.example:4318/v1/logs`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Certificates (PEM) of the authorities to trust instead of the usual ones; null for those. */
  readonly ca: string | null
}

/** A collector that speaks OTLP over HTTP. It has records when it has answered 200. */
export function createOtlpReceiver(
  { url, headers, ca }: OtlpSettings,
  { version, now }: { readonly version: string; readonly now: () => Date },
): Receiver {
  const isTls = new URL(url).protocol === 'https:'
  const options = { keepAlive: true, maxSockets: 1 }
  const agent = isTls
    ? new TlsAgent({ ...options, ...(ca === null ? {} : { ca }) })
    : new PlainAgent(options)
  const closing = new AbortController()

  async function post(body: Buffer): Promise<Receipt> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const send = isTls ? requestTls : requestPlain
    const sent = send(url, {
      method: 'POST',
      agent,
      signal: AbortSignal.any([closing.signal, AbortSignal.timeout(SEND_TIMEOUT_MS)]),
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'content-length': body.length,
      },
    })
    // A collector that switches protocols closes the call without a response and without an error.
    const onClose = (): void => reject(new Error('the connection was closed'))
    sent.on('response', resolve).on('error', reject).on('close', onClose).end(body)
    const answer = await promise
    return readReceipt(answer, await readBounded(answer), now)
  }

  return {
    acknowledges: true,
    async send(events) {
      try {
        return await post(await pack(await formatOtlpLogs(events, version)))
      } catch (error) {
        return failed(error instanceof Error ? error.message : String(error))
      }
    },
    close() {
      closing.abort()
      agent.destroy()
    },
  }
}

function readReceipt(answer: IncomingMessage, text: string, now: () => Date): Receipt {
  const { statusCode: status = 0 } = answer
  if (status >= 200 && status < 300) return { kind: 'taken', refused: countRefused(text) }
  if (REFUSALS.has(status)) return { kind: 'refused', why: `answered ${status}` }
  // Also 401 and 404: the settings are at fault, and the records are not to be lost for that.
  return failed(`answered ${status}`, readRetryAfter(answer.headers['retry-after'], now()))
}

/** `partialSuccess.rejectedLogRecords`, a number or a text of one. */
function countRefused(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as {
      readonly partialSuccess?: { readonly rejectedLogRecords?: unknown } | null
    }
    const refused = Number(partialSuccess?.rejectedLogRecords ?? 0)
    return Number.isSafeInteger(refused) && refused > 0 ? refused : 0
  } catch {
    // Some receivers answer 200 with a text of their own.
    return 0
  }
}

/** Seconds or a date (RFC 9110, §10.2.3), within bounds. */
export function readRetryAfter(header: string | undefined, now: Date): number | null {
  if (header === undefined) return null
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now.getTime()
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), LONGEST_WAIT_MS) : null
}

async function readBounded(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_ANSWER_BYTES) throw new Error(`answered more than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
