import type { Policy } from '@palisade/policy-core'
import type { ReplayResult } from '@palisade/protocol'

/** All data of a replay, for a thread of its own. */
export interface ReplayJob {
  /** Where the evidence is. */
  readonly store: { readonly dataDir: string; readonly databaseUrl: string | null }
  readonly org: string
  readonly fromMs: number
  readonly toMs: number
  readonly nowMs: number
  /** Of the policies in force. */
  readonly revision: number
  readonly resolve_unlisted_names: boolean
  /** The policies of both sides in JSON, each once. */
  readonly policies: readonly Uint8Array<ArrayBuffer>[]
  /** Places in `policies`. */
  readonly before: readonly number[]
  readonly after: readonly number[]
  /** Members of the organization, with the ids of their teams. */
  readonly members: ReadonlyMap<string, readonly string[]>
  /** The `default` of the organization, and those that teams have, by id. */
  readonly defaults: {
    readonly organization: string | null
    readonly teams: ReadonlyMap<string, string>
  }
  /** Groups of each list. */
  readonly groups: number
  /** Whether the answer may name people, devices and programs, and targets of single devices. */
  readonly names: boolean
  readonly upload: Pick<ReplayResult, 'upload' | 'sample_percent' | 'complete_since'>
}

/** Sent by the worker. */
export type ReplayMessage =
  | { readonly kind: 'progress'; readonly line: string }
  /** The last one: the line with the result. */
  | { readonly kind: 'result'; readonly line: string }
  | { readonly kind: 'failed'; readonly message: string }

const UTF8 = new TextEncoder()

/** A buffer is transferred in one step; the strings of an object would be copied one by one. */
export function encodePolicy(policy: Policy): Uint8Array<ArrayBuffer> {
  return UTF8.encode(JSON.stringify(policy))
}

export function decodePolicy(bytes: Uint8Array): Policy {
  return JSON.parse(new TextDecoder().decode(bytes)) as Policy
}
