/** Longer than a machine that is told to spread out stays away. */
const PERIOD_MS = 2 * 60_000

/** How many machines of an organization ask for hints, each counted once. */
export interface HintCallers {
  note(org: string, deviceId: string): void
  count(org: string): number
}

interface Period {
  readonly devices: Map<string, Set<string>>
  readonly endsAtMs: number
}

/**
 * Counts those that ask, not those that wait: under changes without end every machine comes back
 * alone, finds news and would be told that it is the only one. Remembers at most `most` each.
 * `uptime` is monotonic, in milliseconds.
 */
export function countHintCallers(uptime: () => number, most: number): HintCallers {
  let present = begin(uptime())
  let before = begin(0)

  function turn(): void {
    const nowMs = uptime()
    if (nowMs < present.endsAtMs) return
    before = nowMs < present.endsAtMs + PERIOD_MS ? present : begin(0)
    present = begin(nowMs)
  }

  return {
    note(org, deviceId) {
      turn()
      const devices = present.devices.get(org) ?? new Set()
      present.devices.set(org, devices)
      if (devices.size < most) devices.add(deviceId)
    },
    count(org) {
      turn()
      const sizeIn = ({ devices }: Period): number => devices.get(org)?.size ?? 0
      return Math.max(sizeIn(present), sizeIn(before))
    },
  }
}

function begin(nowMs: number): Period {
  return { devices: new Map(), endsAtMs: nowMs + PERIOD_MS }
}
