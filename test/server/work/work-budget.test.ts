import { describe, expect, it } from 'vitest'
import {
  createWorkBudget,
  type Payer,
  type WorkBudget,
} from '../../../server/src/work/work-budget.ts'

const limits = {
  organization: { burstMs: 1000, perSecondMs: 100 },
  caller: { burstMs: 500, perSecondMs: 50 },
  reservedMs: 250,
}
const reader: Payer = { org: 'acme', caller: 'user:mia', isWriter: false }
const owner: Payer = { org: 'acme', caller: 'user:olga', isWriter: true }

function open(options: { readonly maxAccounts?: number } = {}) {
  const clock = { nowMs: 0 }
  return { clock, budget: createWorkBudget({ limits, clockMs: () => clock.nowMs, ...options }) }
}

/** May exceed the rest of the budget, because several pieces of work may run. */
function charge(budget: WorkBudget, payer: Payer, ms: number): void {
  budget.begin(payer).charge(ms)
}

function another(payer: Payer, index: number): Payer {
  return { ...payer, caller: `${payer.caller}${index}` }
}

describe('the work budget', () => {
  it('serves a caller until the burst is spent, and again after it has refilled', () => {
    const { budget, clock } = open()
    charge(budget, reader, 499)
    charge(budget, reader, 101)

    expect(() => budget.require(reader)).toThrow(
      expect.objectContaining({
        status: 429,
        code: 'limit_exceeded',
        headers: { 'retry-after': '2' },
      }),
    )
    clock.nowMs += 2000
    expect(() => budget.require(reader)).toThrow('wait and try again')
    clock.nowMs += 1
    budget.require(reader)
  })

  it('has separate accounts for other callers and organizations', () => {
    const { budget } = open()
    charge(budget, reader, 600)

    budget.require(another(reader, 1))
    budget.require({ ...reader, org: 'initech' })
  })

  it('reserves the rest of the budget of an organization for policy writers', () => {
    const { budget } = open()
    for (const index of [1, 2, 3]) charge(budget, another(reader, index), 250)

    expect(() => budget.require(another(reader, 4))).toThrow('wait and try again')
    budget.require(owner)
    charge(budget, owner, 250)
    expect(() => budget.require(another(owner, 1))).toThrow('wait and try again')
  })

  it('does not make policy writers wait for the use of others', () => {
    const { budget } = open()
    const begun = [1, 2, 3].map((index) => budget.begin(another(reader, index)))
    for (const work of begun) work.charge(100_000)

    budget.require(owner)
    charge(budget, owner, 249)
    budget.require(owner)
  })

  it('lets work that must not wait for others wait for its own caller alone', () => {
    const { budget } = open()
    for (const index of [1, 2]) charge(budget, another(owner, index), 500)
    expect(() => budget.require(owner)).toThrow('wait and try again')

    budget.beginOwn(owner).charge(501)

    expect(() => budget.beginOwn(owner)).toThrow('wait and try again')
    budget.beginOwn(another(owner, 3))
  })

  it('adds nothing to the debt of an organization for such work', () => {
    const { budget, clock } = open()
    for (const index of [1, 2, 3]) budget.beginOwn(another(owner, index)).charge(100_000)
    for (const index of [1, 2, 3]) budget.beginOwn(another(reader, index)).charge(100_000)

    clock.nowMs += 1
    budget.require(another(owner, 4))
    clock.nowMs += 2500
    budget.require(another(reader, 4))
  })

  it('makes all others of the organization wait for the debt of one of them', () => {
    const { budget, clock } = open()
    charge(budget, reader, 1250)

    clock.nowMs += 5000
    expect(() => budget.require(another(reader, 1))).toThrow('wait and try again')
    clock.nowMs += 1
    budget.require(another(reader, 1))
  })

  it('refills at most the burst', () => {
    const { budget, clock } = open()
    charge(budget, reader, 100)
    clock.nowMs += 3_600_000
    charge(budget, reader, 500)

    expect(() => budget.require(reader)).toThrow('wait and try again')
  })

  it('charges each turn, part of a wait within it, and no wait between turns', async () => {
    const clock = { workMs: 0 }
    const caller = { burstMs: 500, perSecondMs: 0.001 }
    const budget = createWorkBudget({
      limits: { ...limits, caller },
      clockMs: () => clock.workMs,
      workMs: () => clock.workMs,
    })
    const work = budget.begin(reader)
    for (const tookMs of [...Array<number>(10).fill(40), 10_000]) {
      clock.workMs += tookMs
      const turn = work.turn()
      clock.workMs += 10_000
      await turn
    }
    budget.require(reader)
    clock.workMs += 49
    work.end()
    budget.require(reader)
    work.charge(2)

    expect(() => budget.require(reader)).toThrow('wait and try again')
  })

  it('charges all of a synchronous piece, and the turn around it apart', () => {
    const clock = { workMs: 0 }
    const budget = createWorkBudget({
      limits: { ...limits, caller: { burstMs: 500, perSecondMs: 0.001 } },
      clockMs: () => 0,
      workMs: () => clock.workMs,
    })
    const work = budget.begin(reader)
    clock.workMs += 10
    expect(work.run(() => (clock.workMs += 400))).toBe(410)
    clock.workMs += 10
    work.end()
    work.charge(79)
    budget.require(reader)

    const failing = (): never => {
      clock.workMs += 1
      throw new Error('no JSON')
    }
    expect(() => work.run(failing)).toThrow('no JSON')
    expect(() => budget.require(reader)).toThrow('wait and try again')
  })

  it('ends turns that have lasted two milliseconds, and no shorter ones', async () => {
    const { budget, clock } = open()
    const work = budget.begin(reader)
    const endsTurn = async (): Promise<boolean> => {
      let isOver = false
      setImmediate(() => (isOver = true))
      await work.turn()
      return isOver
    }

    const ended: boolean[] = []
    for (const afterMs of [0, 1, 1.5, 1, 1]) {
      clock.nowMs += afterMs
      ended.push(await endsTurn())
    }

    expect(ended).toEqual([false, false, true, false, true])
  })

  it('charges CPU time, not the time that the thread waits for a CPU', async () => {
    const { budget, clock } = open()
    const work = budget.begin(reader)
    for (let turns = 0; turns < 20; turns += 1) {
      clock.nowMs += 49
      await work.turn()
    }
    work.charge(490)

    budget.require(reader)
  })

  it('keeps a bounded number of accounts, the last charged ones', () => {
    const { budget } = open({ maxAccounts: 2 })
    const payers = [1, 2, 3].map((index) => ({ ...another(reader, index), org: `${index}` }))
    const [first, second, third] = payers as [Payer, Payer, Payer]
    for (const payer of [first, second, first, third]) charge(budget, payer, 400)

    charge(budget, second, 400)
    budget.require(second)
    charge(budget, third, 200)
    expect(() => budget.require(third)).toThrow('wait and try again')
  })
})
