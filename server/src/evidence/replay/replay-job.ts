import type { ReplayResult } from '@palisade/protocol'
import type { EncodedPolicies } from '../encoded-policies.ts'

/** All data of a replay, for a thread of its own. */
export interface ReplayJob {
  /** Where the evidence is. */
  readonly store: { readonly dataDir: string; readonly databaseUrl: string | null }
  readonly org: string
  readonly fromMs: number
  readonly toMs: number
  readonly nowMs: number
  /** The revision of the policies in force. */
  readonly revision: number
  readonly resolve_unlisted_names: boolean
  /** The policies of both sides, each once. */
  readonly policies: EncodedPolicies
  /** Indices in `policies`. */
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
