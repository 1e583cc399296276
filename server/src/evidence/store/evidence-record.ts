import type { RecordPosition, UploadedRule, UploadedShadow } from '@palisade/protocol'

/** Clocks of machines may be ahead of the server's by so much. */
export const MAX_AHEAD_MS = 60 * 60_000

/** Members that equal records share. One tuple is stored once for all its rows. */
export interface EvidenceTuple {
  readonly point: string
  readonly protocol: string
  /** Null for a request that could not be read. */
  readonly action: string | null
  /** The host of a network request, canonical, as are `port` and `address`; else null. */
  readonly host: string | null
  readonly port: number | null
  readonly address: string | null
  /** The path of a file request; else null. */
  readonly path: string | null
  /** Whether `path` has only the leading segments. */
  readonly path_cut: boolean
  readonly decision: 'allow' | 'deny'
  readonly reason: string
  readonly rules: readonly UploadedRule[]
  /** Where the decision would differ with the shadow policies. */
  readonly shadow?: UploadedShadow
  readonly revision: number | null
  readonly stale: boolean
  readonly break_glass: boolean
  readonly program: string | null
  readonly os_user: string | null
}

/** Equal decisions of one device in one minute. */
export interface EvidenceRow {
  /** Id of the sandbox, or of the start of the agent. */
  readonly session: string
  /** Epoch milliseconds of the first and the last one, by the machine's clock. */
  readonly first_ms: number
  readonly last_ms: number
  /** Decisions; 0 for ended connections, which were counted when they began. */
  readonly decisions: number
  /** Ended connections; 0 for decisions. */
  readonly flows: number
  readonly bytes_sent: number
  readonly bytes_received: number
  readonly tuple: EvidenceTuple
}

/** Decisions without a row. */
export interface EvidenceLoss {
  /** Epoch milliseconds. */
  readonly at_ms: number
  readonly lost: number
  /** The reason that the machine gives, or `gap` for lines that never arrived. */
  readonly reason: string
}

/** A position where the chain of a device does not hold. */
export type ChainMark = 'gap' | 'fork' | 'rewind'

/** The chain of a device's records, as far as the server has followed it. */
export interface DeviceChain {
  readonly position: RecordPosition
  /** The last positions of earlier boots, the newest first; at most 64. */
  readonly earlier: readonly RecordPosition[]
  /** How often each mark was made. */
  readonly gaps: number
  readonly forks: number
  readonly rewinds: number
  /** Epoch milliseconds of the last mark; null without any. */
  readonly marked_ms: number | null
  /** Decisions that machine and chain count as lost. */
  readonly lost: number
  /** Decisions that the settings kept on the machine. */
  readonly left_out: number
  /** Epoch milliseconds of the last batch, by the server's clock. */
  readonly received_ms: number
}
