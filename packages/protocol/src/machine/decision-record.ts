import { z } from 'zod'
import { decisionSchema } from './decision.ts'
import { timestampSchema } from '../timestamp.ts'

/**
 * Points that decide.
 *
 * - `proxy`: the proxy, of the machine or of a sandbox.
 * - `capture`: connections and datagrams of a sandbox that do not use the proxy.
 * - `dns`: the name server of a sandbox, which records refused names only.
 * - `files`: the workspaces of a sandbox, and names that were taken away from them.
 * - `local_api`: the local API, for programs that ask it.
 */
export const RECORD_POINTS = ['proxy', 'capture', 'dns', 'files', 'local_api'] as const
export type RecordPoint = (typeof RECORD_POINTS)[number]

/**
 * The point of questions, such as those of `palisade check` and of hooks. An answer enforces
 * nothing, so a question is no request: it is no evidence and explains no denial.
 */
export const QUESTION_POINT = 'local_api' satisfies RecordPoint

/**
 * Protocol that the program used: `tcp` and `udp` where it was captured, `file` for a path. `mount`
 * asks for a directory with everything below it. A question to the local API is `decide`.
 */
export const RECORD_PROTOCOLS = [
  'http',
  'connect',
  'socks5',
  'socks5_udp',
  'tcp',
  'udp',
  'dns',
  'file',
  'mount',
  'decide',
] as const
export type RecordProtocol = (typeof RECORD_PROTOCOLS)[number]

/** End of a connection: by a peer, a timeout, a change of the policy, or contradicting bytes. */
export const FLOW_CAUSES = ['closed', 'idle', 'revoked', 'content'] as const
export type FlowCause = (typeof FLOW_CAUSES)[number]

/** `previous` of the first line that a machine ever writes. */
export const FIRST_PREVIOUS = '0'.repeat(64)

/** Largest `limit` of `GET /v1/log`, and the default. */
export const MAX_LOG_LIMIT = 10_000
export const DEFAULT_LOG_LIMIT = 1_000

/** Members of every line, in the order in which a machine writes them. */
const position = {
  /** 1 for the first line of a boot, then one more for each line. */
  seq: z.int().positive(),
  /** Random id of one start of the agent. */
  boot: z.string().max(64),
  /**
   * Random, equal for all lines of a boot, and never uploaded. The hash of a line leaves the
   * machine, and would confirm a guess of the members that do not.
   */
  salt: z.string().max(64).optional(),
  /** RFC 3339 UTC, by the time that the agent trusts; may precede the time of the line before. */
  time: timestampSchema,
}

/** SHA-256 of the bytes of the line before, without its line feed, in lower-case hexadecimal. */
const previous = z.string().regex(/^[0-9a-f]{64}$/)

/**
 * The program behind a connection. Only the user is known of a process of another user. Absent from
 * a record when the program could not be found, such as one that ended at once.
 */
export const recordedProgramSchema = z.object({
  pid: z.int().optional(),
  /** Target of the link `/proc/PID/exe`; at most 1,024 characters. */
  executable: z.string().optional(),
  user: z.object({
    uid: z.int(),
    /** From `/etc/passwd`. */
    name: z.string().optional(),
  }),
})
export type RecordedProgram = z.infer<typeof recordedProgramSchema>

/**
 * One line of the decision records: decisions of one minute that are equal in point, protocol,
 * sandbox, decision, canonical request, deciding rules and program. The first is written at once;
 * its repetitions follow as one more line at the end of the minute.
 *
 * Without `flow`, `count` is a number of decisions: the sum over all lines is the number of
 * decisions. With `flow`, it is a number of ended connections, which were counted as decisions when
 * they began.
 */
export const decisionRecordSchema = z.object({
  ...position,
  /** Time of the last decision; absent if it is the only one. */
  until: timestampSchema.optional(),
  point: z.enum(RECORD_POINTS),
  protocol: z.enum(RECORD_PROTOCOLS),
  /** Id of the sandbox in which the program runs; absent outside of any. */
  sandbox: z.string().max(64).optional(),
  /** Lists ten deciding rules at most; `rules_omitted` counts the others. Long texts are cut. */
  decision: decisionSchema.extend({ rules_omitted: z.int().optional() }),
  count: z.int().positive(),
  program: recordedProgramSchema.optional(),
  /** Sums over `count` connections. */
  flow: z
    .object({
      /** Bytes from the program to the target. */
      bytes_sent: z.int().nonnegative(),
      bytes_received: z.int().nonnegative(),
      duration_ms: z.int().nonnegative(),
      cause: z.enum(FLOW_CAUSES),
    })
    .optional(),
  previous,
})
export type DecisionRecord = z.infer<typeof decisionRecordSchema>

/**
 * Why records are missing.
 *
 * - `queue_full`: too many different decisions in one minute.
 * - `write_failed`: the disk refused them, such as a full one.
 * - `torn_line`: a crash cut off the last line of the boot before; counts as one.
 * - `unreadable`: a file of the records before cannot be read, so the chain goes on from an older
 *   line, or starts anew; `lost` is 0.
 */
export const LOSS_REASONS = ['queue_full', 'write_failed', 'torn_line', 'unreadable'] as const
export type LossReason = (typeof LOSS_REASONS)[number]

/** A line that counts decisions and ended connections without a record. */
export const lossRecordSchema = z.object({
  ...position,
  lost: z.int().nonnegative(),
  reason: z.enum(LOSS_REASONS),
  previous,
})
export type LossRecord = z.infer<typeof lossRecordSchema>

/** Any line of the decision records. A loss has `lost`, a decision has `decision`. */
export const recordLineSchema = z.union([decisionRecordSchema, lossRecordSchema])
export type RecordLine = z.infer<typeof recordLineSchema>

/** A place where the chain of records does not hold. */
const chainFaultSchema = z.object({
  /** Name of the file in the directory of the records. */
  file: z.string(),
  /** Number of the line in its file, from 1. */
  line: z.int().positive(),
  /**
   * - `malformed`: not a record.
   * - `broken_chain`: `previous` is not the hash of the line before: one of them was changed, or a
   *   line is missing between them.
   * - `wrong_sequence`: `seq` does not follow that of the line before.
   * - `missing_start`: the oldest lines are missing that the agent has not deleted.
   * - `wrong_head`: the last line is not the one that the agent wrote last.
   * - `unreadable`: the file is not a regular file of this user, or has an endless line.
   */
  fault: z.enum([
    'malformed',
    'broken_chain',
    'wrong_sequence',
    'missing_start',
    'wrong_head',
    'unreadable',
  ]),
})
export type ChainFault = z.infer<typeof chainFaultSchema>

/** `GET /v1/log/verification` */
export const logVerificationSchema = z.object({
  /** Whether the chain holds from the oldest kept line to the newest. */
  intact: z.boolean(),
  lines: z.int(),
  files: z.int(),
  /** Decisions and ended connections that the lines count as lost. */
  lost: z.int(),
  /** The first hundred. */
  faults: z.array(chainFaultSchema),
  /** Hash of the last line, to be noted elsewhere; null without a line. */
  head: z.string().nullable(),
})
export type LogVerification = z.infer<typeof logVerificationSchema>
