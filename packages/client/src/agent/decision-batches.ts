import { MAX_BATCH_BYTES, MAX_BATCH_LINES } from '@palisade/protocol'

/** The text of an invalid request. */
const INVALID = 'null'

/** A batch of requests as the agent takes it. */
export interface DecisionBatch {
  /** One request a line, each with its line feed. */
  readonly text: string
  readonly lines: number
}

/** Splits requests into batches that the agent takes, in order. */
export function* splitIntoBatches(requests: readonly unknown[]): Generator<DecisionBatch> {
  let text = ''
  let bytes = 0
  let lines = 0
  for (const request of requests) {
    const line = formatLine(request)
    const lineBytes = Buffer.byteLength(line)
    if (lines === MAX_BATCH_LINES || bytes + lineBytes > MAX_BATCH_BYTES) {
      yield { text, lines }
      text = ''
      bytes = 0
      lines = 0
    }
    text += line
    bytes += lineBytes
    lines += 1
  }
  if (lines > 0) yield { text, lines }
}

/** JSON has no undefined. Null is an invalid request too, as is one that no batch can hold. */
function formatLine(request: unknown): string {
  const line = JSON.stringify(request ?? null) as string | undefined
  return line === undefined || Buffer.byteLength(line) >= MAX_BATCH_BYTES
    ? `${INVALID}\n`
    : `${line}\n`
}
