import { ApiError } from '../platform/api-error.ts'
import { LEAST_TURN_MS, nextTurn } from '../platform/next-turn.ts'
import { createLruCache } from '../platform/lru-cache.ts'
import { threadTimeMs } from './thread-time.ts'

/** The burst that may be spent at once, and its refill in a second; milliseconds of work. */
export interface Allowance {
  readonly burstMs: number
  readonly perSecondMs: number
}

export interface BudgetLimits {
  readonly organization: Allowance
  readonly caller: Allowance
  /** Part of an organization's burst kept for callers who may change its policies. */
  readonly reservedMs: number
}

const LIMITS: BudgetLimits = {
  organization: { burstMs: 10_000, perSecondMs: 250 },
  caller: { burstMs: 5_000, perSecondMs: 125 },
  reservedMs: 2_500,
}
/**
 * Upper bound on the charge of a turn: the rest was work of others while it waited for the store.
 */
const LONGEST_TURN_MS = 50
/** Accounts that are kept of organizations and of callers each, those asked for last. */
const MAX_ACCOUNTS = 20_000

/** The caller that pays for the work, and its organization. */
export interface Payer {
  readonly org: string
  /** `formatPrincipal` of the caller. */
  readonly caller: string
  /** May change policies, and so has the reserve of the organization. */
  readonly isWriter: boolean
}

/**
 * Time that organizations and their callers may take of the server, each by a token bucket. Work of
 * any length is charged for its processor time. It may end in debt, and later work waits until the
 * debt is paid back; callers who may change policies wait for no debt of others.
 */
export interface WorkBudget {
  /**
   * Throws 429 with `Retry-After` while the budget of the caller or the organization is used up.
   */
  require(payer: Payer): void
  /** Throws as `require` does, and begins to count. */
  begin(payer: Payer): Work
  /**
   * Throws 429 while the caller's own budget is used up, and begins to count. For work that must
   * not wait for others: its debt is that of its caller alone.
   */
  beginOwn(payer: Payer): Work
}

/** Work in short turns, so that other requests are served in between. */
export interface Work {
  /**
   * Ends a turn that has lasted two milliseconds: charges its time, and resolves after the turns of
   * others. Call it between pieces of work of any length.
   */
  turn(): Promise<void>
  /** Does synchronous work of any length, and charges all of its time. */
  run<T>(piece: () => T): T
  /** Charges the last turn. */
  end(): void
  /** Charges work done elsewhere, such as by a worker. */
  charge(ms: number): void
}

export function createWorkBudget({
  limits = LIMITS,
  maxAccounts = MAX_ACCOUNTS,
  clockMs = () => performance.now(),
  workMs = threadTimeMs,
}: {
  readonly limits?: BudgetLimits
  readonly maxAccounts?: number
  readonly clockMs?: () => number
  /** Processor time so far. */
  readonly workMs?: () => number
} = {}): WorkBudget {
  const organizations = createAccounts(limits.organization, maxAccounts)
  const { burstMs, perSecondMs } = limits.organization
  /**
   * For callers who may not change policies, per organization: a separate account for their debts.
   */
  const readers = createAccounts({ burstMs: burstMs - limits.reservedMs, perSecondMs }, maxAccounts)
  const callers = createAccounts(limits.caller, maxAccounts)
  const keyOf = ({ org, caller }: Payer) => JSON.stringify([org, caller])

  function charge(payer: Payer, ms: number, mostDebtMs = Infinity): void {
    const nowMs = clockMs()
    const leastMs = payer.isWriter ? -mostDebtMs : limits.reservedMs
    organizations.charge(payer.org, ms, { nowMs, leastMs })
    if (!payer.isWriter) readers.charge(payer.org, ms, { nowMs, leastMs: -mostDebtMs })
    callers.charge(keyOf(payer), ms, { nowMs })
  }

  function require(payer: Payer): void {
    const nowMs = clockMs()
    const reservedMs = payer.isWriter ? 0 : limits.reservedMs
    const waitMs = Math.max(
      organizations.waitMs(payer.org, reservedMs, nowMs),
      payer.isWriter ? 0 : readers.waitMs(payer.org, 0, nowMs),
      callers.waitMs(keyOf(payer), 0, nowMs),
    )
    if (waitMs > 0) throw exhausted(waitMs)
  }

  function count(pay: (ms: number) => void): Work {
    let startedMs = workMs()
    let dueMs = clockMs() + LEAST_TURN_MS
    const end = () => pay(Math.min(workMs() - startedMs, LONGEST_TURN_MS))
    return {
      end,
      async turn() {
        if (clockMs() < dueMs) return
        end()
        await nextTurn()
        startedMs = workMs()
        dueMs = clockMs() + LEAST_TURN_MS
      },
      run(piece) {
        end()
        startedMs = workMs()
        try {
          return piece()
        } finally {
          pay(workMs() - startedMs)
          startedMs = workMs()
        }
      },
      charge: pay,
    }
  }

  return {
    require,
    begin(payer) {
      require(payer)
      return count((ms) => charge(payer, ms))
    },
    beginOwn(payer) {
      const waitMs = callers.waitMs(keyOf(payer), 0, clockMs())
      if (waitMs > 0) throw exhausted(waitMs)
      return count((ms) => charge(payer, ms, 0))
    },
  }
}

function exhausted(waitMs: number): ApiError {
  return new ApiError(
    429,
    'limit_exceeded',
    'requests about many policies or devices have used up the work budget; wait and try again',
    { headers: { 'retry-after': String(Math.ceil(waitMs / 1000)) } },
  )
}

interface Account {
  readonly leftMs: number
  readonly atMs: number
}

/** An account that is not kept is full. */
function createAccounts({ burstMs, perSecondMs }: Allowance, maxAccounts: number) {
  const accounts = createLruCache<Account>(maxAccounts, () => 1)

  function left(key: string, nowMs: number): number {
    const known = accounts.find(key)
    if (known === null) return burstMs
    return Math.min(burstMs, known.leftMs + ((nowMs - known.atMs) / 1000) * perSecondMs)
  }

  return {
    /** How long until more than `reservedMs` are left; 0 when they are. */
    waitMs(key: string, reservedMs: number, nowMs: number): number {
      const missingMs = reservedMs - left(key, nowMs)
      return missingMs < 0 ? 0 : Math.max(1, (missingMs / perSecondMs) * 1000)
    },
    /** Takes no more than down to `leastMs`. */
    charge(
      key: string,
      ms: number,
      { nowMs, leastMs = -Infinity }: { nowMs: number; leastMs?: number },
    ): void {
      const beforeMs = left(key, nowMs)
      const leftMs = Math.max(beforeMs - ms, Math.min(beforeMs, leastMs))
      accounts.keep(key, { leftMs, atMs: nowMs })
    },
  }
}
