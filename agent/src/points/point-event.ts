import type { MachineDecision } from '../decision/active-policy.ts'
import type { TcpEnd } from '../programs/tcp-table.ts'
import type { PointName } from './enforcement-point.ts'

/** Protocol that a program used to ask an enforcement point. */
export type PointProtocol = 'http' | 'connect' | 'socks5' | 'socks5_udp'

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
export interface PointEvent {
  readonly point: PointName
  readonly protocol: PointProtocol
  readonly decision: MachineDecision
  /** The program's end of its connection, or null where it is unknown. */
  readonly client: TcpEnd | null
  /** Present at the end of a connection that was allowed. */
  readonly flow?: FlowEnd
}
