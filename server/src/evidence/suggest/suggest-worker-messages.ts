import type { RecordedRequest, SuggestOrganization, SuggestRules } from './suggest-input.ts'
import type { Suggestions } from './suggest.ts'

/**
 * Messages to the worker. Values are JSON in UTF-8: a buffer is transferred in one step, and the
 * strings of an object would be copied one by one.
 */
export interface SuggestWorkerParts {
  readonly requests: readonly RecordedRequest[]
  readonly policies: SuggestOrganization['policies']
  readonly people: Pick<SuggestOrganization, 'teams' | 'members'>
  /** The last one; the worker answers. */
  readonly rules: { readonly rules: SuggestRules; readonly now: number }
}

export interface SuggestWorkerMessage {
  readonly part: keyof SuggestWorkerParts
  readonly json: Uint8Array
}

export type SuggestWorkerReply =
  | { readonly ok: true; readonly json: Uint8Array }
  /** The policies do not compile, or another fault of the calculation. */
  | { readonly ok: false; readonly message: string }

const UTF8 = new TextEncoder()
const TEXT = new TextDecoder()

export function encodePart(value: unknown): Uint8Array<ArrayBuffer> {
  return UTF8.encode(JSON.stringify(value))
}

export function decodeSuggestions(json: Uint8Array): Suggestions {
  return JSON.parse(TEXT.decode(json)) as Suggestions
}

export function decodePart<Part extends keyof SuggestWorkerParts>(
  _part: Part,
  json: Uint8Array,
): SuggestWorkerParts[Part] {
  return JSON.parse(TEXT.decode(json)) as SuggestWorkerParts[Part]
}
