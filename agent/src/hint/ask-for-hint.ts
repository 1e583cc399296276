import { hintSchema, parseJson, type Hint } from '@palisade/protocol'
import { fault, type Fault } from '../sync/fault.ts'
import type { FetchFile } from '../sync/transport/fetch-file.ts'

const PATH = '/api/v1/device/hint'
const MAX_HINT_BYTES = 256

/** A hint, a fault, or `absent` for a server without hints. */
export type HintAnswer = { readonly kind: 'hint'; readonly hint: Hint } | Fault | { kind: 'absent' }

/** Waits until the server reports a revision other than `since`. Never rejects. */
export async function askForHint(
  fetchFile: FetchFile,
  timeoutMs: number,
  since: number | null,
  signal: AbortSignal,
): Promise<HintAnswer> {
  const path = since === null ? PATH : `${PATH}?since=${since}`
  const file = { path, maxBytes: MAX_HINT_BYTES, timeoutMs, keepsToken: true }
  const answer = await fetchFile(file, signal)
  if (answer.kind === 'fault' || answer.kind === 'absent') return answer
  const json = answer.kind === 'body' ? parseJson(answer.body.toString()) : null
  const hint = json?.ok === true ? hintSchema.safeParse(json.value).data : undefined
  return hint === undefined
    ? fault('malformed', 'the server did not answer with a hint')
    : { kind: 'hint', hint }
}
