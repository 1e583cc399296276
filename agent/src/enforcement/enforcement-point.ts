/** Members of the status that hold the address of a point. */
export type PointName = 'proxy'

/**
 * A place where the policy of this machine applies to programs. The agent starts points in list
 * order, after it has restored the cached policy, and stops them in reverse order.
 */
export interface EnforcementPoint {
  readonly name: PointName
  /** Serves programs from then on. Throws `AgentError`. */
  start(): Promise<void>
  /**
   * Takes no more programs and closes their connections. Harmless before `start`, and after a
   * failed one.
   */
  stop(): Promise<void>
  /** The present address for programs, in a form for people. */
  describe(): string
}

/** The description of each point by its name; empty for a missing point. */
export function describePoints(
  points: readonly EnforcementPoint[],
): Readonly<Record<PointName, string>> {
  const described: Record<PointName, string> = { proxy: '' }
  for (const point of points) described[point.name] = point.describe()
  return described
}
