/** Kinds of requests that an agent sends. */
export const REQUEST_KINDS = ['poll', 'fetch', 'token', 'report'] as const
export type RequestKind = (typeof REQUEST_KINDS)[number]

/** Counts of one second of a run. */
export interface Second {
  /** Requests of each kind at the time they were sent. */
  readonly sent: Record<RequestKind, number>
  /** By status, such as `304`, or `none` without a response. */
  readonly outcomes: Record<string, number>
  /** Agents that adopted the new revision. */
  adopted: number
}

export interface Timeline {
  sent(kind: RequestKind): void
  answered(outcome: string): void
  adopted(): void
  /** From the start of the run, without gaps. */
  seconds(): readonly Second[]
}

export function createTimeline(uptimeMs: () => number): Timeline {
  const startedMs = uptimeMs()
  const seconds: Second[] = []
  const present = (): Second => {
    const index = Math.floor((uptimeMs() - startedMs) / 1000)
    while (seconds.length <= index) seconds.push(createSecond())
    return seconds[index] ?? createSecond()
  }
  return {
    sent(kind) {
      present().sent[kind] += 1
    },
    answered(outcome) {
      const { outcomes } = present()
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    },
    adopted() {
      present().adopted += 1
    },
    seconds() {
      present()
      return seconds
    },
  }
}

function createSecond(): Second {
  return { sent: { poll: 0, fetch: 0, token: 0, report: 0 }, outcomes: {}, adopted: 0 }
}

/** The path alone determines the kind. */
export function kindOf(path: string): RequestKind {
  if (path.endsWith('/timestamp.json')) return 'poll'
  if (path.endsWith('/device/token')) return 'token'
  return path.endsWith('/device/report') ? 'report' : 'fetch'
}
