import type { PortGroups } from './chain-sets.ts'

/** The groups of one pattern during the reading of resources. */
export interface PortGroupsDraft extends PortGroups {
  everyPort: number | null
  byPort: Map<number, number> | null
}

/** Numbers groups in the order in which their first resource is read. */
export interface GroupCounter {
  readonly next: () => number
  readonly count: () => number
}

export function createGroupCounter(): GroupCounter {
  let count = 0
  return {
    next: () => {
      count += 1
      return count - 1
    },
    count: () => count,
  }
}

export function draftPortGroups(): PortGroupsDraft {
  return { everyPort: null, byPort: null }
}

/** The group of the pattern with this port. A new group gets its number here. */
export function groupOfPort(
  draft: PortGroupsDraft,
  port: number | null,
  counter: GroupCounter,
): number {
  if (port === null) return (draft.everyPort ??= counter.next())
  draft.byPort ??= new Map()
  const known = draft.byPort.get(port)
  if (known !== undefined) return known
  const group = counter.next()
  draft.byPort.set(port, group)
  return group
}
