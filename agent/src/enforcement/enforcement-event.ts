import type { RecordPoint, RecordProtocol } from '@palisade/protocol'
import type { MachineDecision } from '../policy/decision/active-policy.ts'
import type { ClientEndpoint } from '../host/process-lookup/client-endpoint.ts'

/** Protocol that a program used at an enforcement point. */
export type PointProtocol = Exclude<RecordProtocol, 'decide'>

/** The end of an allowed connection. */
export interface FlowEnd {
  /** Bytes from the program to the target. */
  readonly bytesSent: number
  readonly bytesReceived: number
  readonly durationMs: number
  /**
   * - `closed`: by the program or the target.
   * - `idle`: by the idle timeout.
   * - `revoked`: a policy change or an expiry denies the connection now; `decision` is that denial.
   * - `content`: the bytes contradict the target; `decision` is that denial.
   */
  readonly cause: 'closed' | 'idle' | 'revoked' | 'content'
}

/** A decision of an enforcement point on a program, or the end of a connection that it allowed. */
export interface EnforcementEvent {
  readonly point: Exclude<RecordPoint, 'local_api'>
  readonly protocol: PointProtocol
  readonly decision: MachineDecision
  /** Id of the sandbox in which the program runs; absent outside of any. */
  readonly sandbox?: string
  /** The address of the program in its connection, or null where it is unknown. */
  readonly client: ClientEndpoint | null
  /** Present at the end of a connection that was allowed. */
  readonly flow?: FlowEnd
}
