/** Members of the status that say where a point is reached. */
export type PointName = 'proxy'

/**
 * A place where the policy of this machine meets programs. The agent starts points in the order of
 * its list, once there is something to enforce, and stops them in the reverse order.
 */
export interface EnforcementPoint {
  readonly name: PointName
  /** Takes programs from then on. Throws `AgentError`. */
  start(): Promise<void>
  /** Takes no more programs and closes their connections. Harmless before `start`, and after one that failed. */
  stop(): Promise<void>
  /** Where programs reach it, for people, as it is now. */
  describe(): string
}

/** What each point says of itself, by its name; empty where there is no such point. */
export function describePoints(
  points: readonly EnforcementPoint[],
): Readonly<Record<PointName, string>> {
  const described: Record<PointName, string> = { proxy: '' }
  for (const point of points) described[point.name] = point.describe()
  return described
}
