import { hintSchema, parseJson, type Hint } from '@palisade/protocol'
import { fault, type Fault } from '../fault.ts'
import type { FetchFile } from '../transport/fetch-file.ts'

const PATH = '/api/v1/device/hint'
const MAX_HINT_BYTES = 256

/** A hint, a fault, or `absent` for a server without hints. */
export type HintAnswer = { readonly kind: 'hint'; readonly hint: Hint } | Fault | { kind: 'absent' }

/** The last known revision and assignment of this machine; null for unknown ones. */
export interface HintQuestion {
  readonly since: number | null
  readonly assignment: number | null
}

/** Waits until the server reports another revision, or a later assignment. Never rejects. */
export async function askForHint(
  fetchFile: FetchFile,
  timeoutMs: number,
  { since, assignment }: HintQuestion,
  signal: AbortSignal,
): Promise<HintAnswer> {
  const path = since === null ? PATH : `${PATH}?${formatQuery(since, assignment)}`
  const file = { path, maxBytes: MAX_HINT_BYTES, timeoutMs, keepsToken: true }
  const answer = await fetchFile(file, signal)
  if (answer.kind === 'fault' || answer.kind === 'absent') return answer
  const json = answer.kind === 'body' ? parseJson(answer.body.toString()) : null
  const hint = json?.ok === true ? hintSchema.safeParse(json.value).data : undefined
  return hint === undefined
    ? fault('malformed', 'the server did not answer with a hint')
    : { kind: 'hint', hint }
}

function formatQuery(since: number, assignment: number | null): string {
  return `since=${since}${assignment === null ? '' : `&assignment=${assignment}`}`
}
