import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  createCompiledPolicies,
  type EffectiveSet,
} from '../../../../server/src/governance/compilation/compiled-policies.ts'
import {
  createPolicyWorker,
  type PolicyWorker,
  type WorkerSet,
} from '../../../../server/src/governance/compilation/policy-worker-client.ts'
import { nextTurn } from '../../../../server/src/platform/next-turn.ts'
import {
  createWorkBudget,
  type Work,
} from '../../../../server/src/operations/overload/work-budget.ts'
import type { PolicyHeadRecord, PolicyRecord } from '../../../../server/src/store/records.ts'
import { policyWorkerFile } from '../../../../server/src/platform/worker-file.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const REQUEST = { action: 'connect:tcp', host: 'example.com', port: 443 } as const
const AT = '2026-11-21T08:00:00Z'

function policy(id: string, ...resources: string[]): PolicyRecord {
  const rule = { id: `${id}-r`, name: 'r', actions: ['connect:tcp'], decision: 'allow' } as const
  const head = { id, org: 'acme', name: id, teams: [], created_at: AT, updated_at: AT }
  return { ...head, revision: 1, rules: [{ ...rule, resources }] }
}

function setOf(...heads: PolicyHeadRecord[]): EffectiveSet {
  return { org: 'acme', heads, resolve_unlisted_names: false }
}

/** Counts how many policies it is asked for. */
function loader(...policies: PolicyRecord[]) {
  let times = 0
  return {
    caller: 'user:mia',
    begin: () => createWorkBudget().begin({ org: 'acme', caller: 'user:mia', isWriter: false }),
    async load({ id, revision }: PolicyHeadRecord) {
      times += 1
      return policies.find((each) => each.id === id && each.revision === revision) ?? null
    },
    times: () => times,
  }
}

const workers = { small: createPolicyWorker(), large: createPolicyWorker() }
afterAll(async () => {
  await workers.small.close()
  await workers.large.close()
})

function open(limits: { readonly maxResources?: number; readonly maxSets?: number } = {}) {
  return createCompiledPolicies({ workers, ...limits })
}

/** Work that tells what it was charged for being done elsewhere. */
function spending() {
  let charged = 0
  const work: Work = {
    turn: () => nextTurn(),
    end: () => undefined,
    charge: (ms) => void (charged += ms),
  }
  return { work, charged: () => charged }
}

function refuse(): never {
  throw new Error('nothing left')
}

/** Of each thread of this process; fields of proc_pid_stat(5). */
function nicenesses(): number[] {
  const fields = (thread: string) =>
    readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return readdirSync('/proc/self/task').map((thread) => Number(fields(thread)[16]))
}

describe('compiled policies', () => {
  it.runIf(process.platform === 'linux')(
    'leave requests the first turn on a processor',
    async () => {
      await open().decide(
        setOf(policy('p', 'example.com')),
        loader(policy('p', 'example.com')),
        REQUEST,
      )

      expect(nicenesses()).toContain(5)
      expect(getPriority()).toBe(0)
    },
  )

  const one = policy('p', 'example.com')
  const set = setOf(one)

  it('are made once for a set of policies, also when it is asked for at the same time', async () => {
    const kept = open()
    const source = loader(one)

    const [first, second] = await Promise.all([
      kept.decide(set, source, REQUEST),
      kept.decide(set, source, REQUEST),
    ])
    const third = await kept.decide(setOf({ ...one }), source, REQUEST)

    expect([first, second, third].map((each) => each?.decision)).toEqual(Array(3).fill('allow'))
    expect(source.times()).toBe(1)
  })

  it('are made for another caller while one fills the places of the organization', async () => {
    const kept = open()
    const sources = Array.from({ length: 20 }, (_, n) => policy(`p${n}`, 'example.com'))
    const order: string[] = []
    const ask = async (caller: string, each: PolicyRecord): Promise<string> => {
      const source = { ...loader(each), caller }
      const decided = kept.decide(setOf(each), source, REQUEST)
      const outcome = await decided.then(
        () => 'answered',
        () => 'refused',
      )
      order.push(`${caller} ${outcome}`)
      return outcome
    }
    const many = sources.map((each) => ask('user:auditor', each))
    const mine = ask('user:owner', policy('mine', 'example.com'))
    const shared = ask('user:owner', sources[3] ?? one)

    expect(await mine).toBe('answered')
    expect(await shared).toBe('answered')
    const outcomes = await Promise.all(many)
    expect(outcomes.filter((outcome) => outcome === 'refused').length).toBe(5)
    const answered = order.filter((line) => line.endsWith('answered'))
    expect(answered.indexOf('user:owner answered')).toBeLessThan(4)
  })

  it('decide for organizations in turns, however many requests one of them has', async () => {
    const begun: string[] = []
    const small: Pick<PolicyWorker, 'open'> = {
      open() {
        const opened = workers.small.open()
        const decide: WorkerSet['decide'] = (request) => {
          begun.push(String(Reflect.get(Object(request), 'host')))
          return opened.decide(request)
        }
        return { ...opened, decide }
      },
    }
    const kept = createCompiledPolicies({ workers: { ...workers, small } })
    const other = { ...set, org: 'rival' }
    const source = loader(one)
    const ask = (of: EffectiveSet, host: string) =>
      kept.decide(of, source, { ...REQUEST, host: `${host}.example.com` })
    await Promise.all([ask(set, 'made'), ask(other, 'made')])
    begun.length = 0

    const many = Array.from({ length: 10 }, (_, n) => ask(set, `acme${n}`))
    await Promise.all([...many, ask(other, 'rival')])

    expect(begun.indexOf('rival.example.com')).toBeLessThan(3)
  })

  it('refuse decisions of a caller beyond those that may wait', async () => {
    const kept = open()
    const source = loader(one)
    await kept.decide(set, source, REQUEST)

    const many = await Promise.allSettled(
      Array.from({ length: 100 }, () => kept.decide(set, source, REQUEST)),
    )

    const refused = many.filter(({ status }) => status === 'rejected')
    expect(refused.length).toBe(35)
  })

  it('are refused to one caller by the budget of no other', async () => {
    const kept = open()
    const source = loader(one)
    const poor = { ...source, caller: 'user:poor', begin: () => refuse() }

    const [refused, answered] = await Promise.allSettled([
      kept.decide(set, poor, REQUEST),
      kept.decide(set, source, REQUEST),
    ])

    expect([refused.status, answered.status]).toEqual(['rejected', 'fulfilled'])
  })

  it.each([
    ['a policy at another revision', setOf({ ...one, revision: 2 })],
    ['another policy', setOf({ ...one, id: 'q' })],
    ['fewer policies', setOf()],
    ['another organization', { ...set, org: 'initech' }],
    ['another setting for unlisted names', { ...set, resolve_unlisted_names: true }],
  ])('are never those of %s', async (_title, other) => {
    const kept = open()
    const first = await kept.decide(set, loader(one), REQUEST)

    const head = other.heads[0]
    const changed = head && { ...policy(head.id, 'example.org'), revision: head.revision }
    const second = await kept.decide(other, loader(...(changed ? [changed] : [])), REQUEST)

    expect([first?.decision, second?.decision]).toEqual(['allow', 'deny'])
  })

  it('are not made of policies that have changed since', async () => {
    const kept = open()

    expect(await kept.decide(set, loader({ ...one, revision: 2 }), REQUEST)).toBeNull()
    expect(await kept.decide(set, loader(one), REQUEST)).not.toBeNull()
  })

  it.each([
    ['resources', { maxResources: 4 }],
    ['sets', { maxSets: 2 }],
  ])('beyond so many %s are forgotten, those asked for least lately first', async (_of, limits) => {
    const kept = open(limits)
    const source = loader(...['a', 'b', 'c'].map((id) => policy(id, 'example.com')))
    const asked: number[] = []
    for (const id of ['a', 'b', 'a', 'c', 'a', 'b']) {
      await kept.decide(setOf(policy(id)), source, REQUEST)
      asked.push(source.times())
    }

    expect(asked).toEqual([1, 2, 2, 3, 3, 4])
  })

  it('up to the limit are answered', async () => {
    const kept = open({ maxResources: 4 })
    const three = policy('p', 'a.example', 'b.example', 'c.example')

    await expect(kept.decide(setOf(three), loader(three), REQUEST)).resolves.not.toBeNull()
  })

  it('beyond the limit are refused, and read no further and never again', async () => {
    const kept = open({ maxResources: 4 })
    const policies = ['a', 'b', 'c'].map((id) => policy(id, 'one.example', 'two.example'))
    const source = loader(...policies)

    for (let asked = 0; asked < 3; asked += 1)
      await expect(kept.decide(setOf(...policies), source, REQUEST)).rejects.toMatchObject({
        status: 403,
        code: 'limit_exceeded',
      })
    // Two for each worker.
    expect(source.times()).toBe(4)
  })

  it('that have to be made are begun with what the caller may spend, and kept ones given without', async () => {
    const kept = open()
    await kept.decide(set, loader(one), REQUEST)
    const source = { ...loader(one), begin: () => refuse() }

    await expect(kept.decide(setOf(), source, REQUEST)).rejects.toThrow('nothing left')
    await expect(kept.decide(set, source, REQUEST)).resolves.not.toBeNull()
  })

  it('are made by a thread that takes longer to start than they may take', async () => {
    const file = join(temporaryDirectory(), 'slow-to-start.mjs')
    const pause = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)'
    writeFileSync(file, `${pause}\nawait import(${JSON.stringify(policyWorkerFile().href)})\n`)
    const late = createPolicyWorker({ file: pathToFileURL(file), timeLimitMs: 500 })
    onTestFinished(() => late.close())
    const kept = createCompiledPolicies({ workers: { small: late, large: late } })

    const decision = await kept.decide(
      setOf(policy('p', 'example.com')),
      loader(policy('p', 'example.com')),
      REQUEST,
    )

    expect(decision?.decision).toBe('allow')
  })

  it('that take too long to compile are refused, paid for, and not tried again', async () => {
    const slow = createPolicyWorker({ timeLimitMs: 1 })
    const large = policy('p', ...Array.from({ length: 20_000 }, (_, index) => `h${index}.example`))
    const kept = createCompiledPolicies({ workers: { small: slow, large: slow } })
    const { work, charged } = spending()
    const source = { ...loader(large), begin: () => work }

    for (let asked = 0; asked < 2; asked += 1)
      await expect(kept.decide(setOf(large), source, REQUEST)).rejects.toMatchObject({
        status: 403,
        code: 'limit_exceeded',
      })
    // Once to find that it is large.
    expect(source.times()).toBe(2)
    expect(charged()).toBeGreaterThan(0)
    await slow.close()
  })

  it('that are large hold up no small ones, neither new nor kept', async () => {
    const kept = open()
    const large = policy('l', ...Array.from({ length: 60_000 }, (_, index) => `h${index}.example`))
    const known = policy('k', 'example.com')
    const source = loader(large, known, one)
    await kept.decide(setOf(known), source, REQUEST)
    const ended: string[] = []
    const ask = async (each: PolicyRecord) => {
      await kept.decide(setOf(each), source, REQUEST)
      ended.push(each.id)
    }
    const begun = ask(large)
    // It has been read twice, and so is being compiled.
    while (source.times() < 3) await nextTurn()

    await Promise.all([begun, ask(known), ask(one)])

    expect(ended.at(-1)).toBe('l')
    expect(ended).toHaveLength(3)
  })

  it('that are small and slow are compiled with the large', async () => {
    const impatient = createPolicyWorker({ timeLimitMs: 1 })
    const kept = createCompiledPolicies({ workers: { ...workers, small: impatient } })
    const slow = policy('p', ...Array.from({ length: 4_000 }, (_, index) => `h${index}.example`))

    const decision = await kept.decide(setOf(slow), loader(slow), {
      ...REQUEST,
      host: 'h7.example',
      port: 443,
    })

    expect(decision?.decision).toBe('allow')
    await impatient.close()
  })

  it('are compiled again in another worker after theirs has ended', async () => {
    const ending = createPolicyWorker()
    const kept = createCompiledPolicies({ workers: { ...workers, small: ending } })
    const source = loader(one)
    await kept.decide(set, source, REQUEST)
    await ending.close()

    expect((await kept.decide(set, source, REQUEST))?.decision).toBe('allow')
    expect(source.times()).toBe(2)
    await ending.close()
  })

  it('are made one set at a time, so that none is blamed for another', async () => {
    const kept = open()
    const policies = ['a', 'b', 'c'].map((id) => policy(id, 'example.com'))
    let [loading, most] = [0, 0]
    const source = {
      ...loader(...policies),
      async load(head: PolicyHeadRecord) {
        loading += 1
        most = Math.max(most, loading)
        await nextTurn()
        loading -= 1
        return policies.find(({ id }) => id === head.id) ?? null
      },
    }

    const sets = policies.map((each, index) => ({ ...setOf(each), org: `org${index}` }))
    await Promise.all(sets.map((each) => kept.decide(each, source, REQUEST)))

    expect(most).toBe(1)
  })

  it('are begun with what the caller may spend when their turn has come, not before', async () => {
    const kept = open()
    const policies = ['a', 'b', 'c'].map((id) => policy(id, 'example.com'))
    const { work, charged } = spending()
    const begin = () => (charged() > 0 ? refuse() : work)
    const source = { ...loader(...policies), begin }

    const answers = policies.map((each) => kept.decide(setOf(each), source, REQUEST))

    const statuses = (await Promise.allSettled(answers)).map(({ status }) => status)
    expect(statuses).toEqual(['fulfilled', 'rejected', 'rejected'])
  })

  it('beyond so many that wait are refused', async () => {
    const kept = open()
    const policies = Array.from({ length: 20 }, (_, index) => policy(`p${index}`, 'example.com'))
    const source = loader(...policies)

    const answers = policies.map((each) => kept.decide(setOf(each), source, REQUEST))

    const refused = (await Promise.allSettled(answers)).filter(
      ({ status }) => status === 'rejected',
    )
    expect(refused.map((each) => 'reason' in each && each.reason)).toEqual(
      Array(3).fill(expect.objectContaining({ status: 429, code: 'limit_exceeded' })),
    )
  })

  it('are measured by their texts where these are long', async () => {
    const kept = open({ maxResources: 100 })
    const [rule] = policy('p').rules
    const resources = Array.from({ length: 20 }, (_, index) => `/${index}${'/a'.repeat(1000)}`)
    const long = { ...policy('p'), rules: [{ ...rule!, actions: ['read'] as const, resources }] }
    const answer = kept.decide(setOf(long), loader(long), REQUEST)

    await expect(answer).rejects.toMatchObject({ status: 403, code: 'limit_exceeded' })
  })

  it('are not kept when loading fails', async () => {
    const kept = open()
    const failing = kept.decide(
      set,
      { ...loader(one), load: () => Promise.reject(new Error('away')) },
      REQUEST,
    )

    await expect(failing).rejects.toThrow('away')
    expect((await kept.decide(set, loader(one), REQUEST))?.decision).toBe('allow')
  })
})
