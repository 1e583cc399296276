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
import { createWorkBudget, type Work } from '../../../../server/src/work/work-budget.ts'
import type { PolicyHeadRecord, PolicyRecord } from '../../../../server/src/store/records.ts'
import { workerFile } from '../../../../server/src/platform/start-worker.ts'
import { startBundle, startFile } from '../../started-thread.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const REQUEST = { action: 'connect:tcp', host: 'example.com', port: 443 } as const
const AT = '2026-11-21T08:00:00Z'

function policy(id: string, ...resources: string[]): PolicyRecord {
  const rule = { id: `${id}-r`, name: 'r', actions: ['connect:tcp'], decision: 'allow' } as const
  const head = { id, org: 'acme', name: id, teams: [], created_at: AT, updated_at: AT }
  return { ...head, revision: 1, rules: [{ ...rule, resources }] }
}

function setOf(...heads: PolicyHeadRecord[]): EffectiveSet {
  return { org: 'acme', heads, resolve_unlisted_names: false, default: 'enforce' }
}

/** A source of policies that counts its loads. */
function loader(...policies: PolicyRecord[]) {
  let times = 0
  return {
    caller: 'user:mia',
    now: () => Date.parse(AT),
    begin: () => createWorkBudget().begin({ org: 'acme', caller: 'user:mia', isWriter: false }),
    async load({ id, revision }: PolicyHeadRecord) {
      times += 1
      return policies.find((each) => each.id === id && each.revision === revision) ?? null
    },
    times: () => times,
  }
}

const workers = {
  small: createPolicyWorker({ startWorker: startBundle }),
  large: createPolicyWorker({ startWorker: startBundle }),
}
afterAll(async () => {
  await workers.small.close()
  await workers.large.close()
})

function open(limits: { readonly maxResources?: number; readonly maxSets?: number } = {}) {
  return createCompiledPolicies({ workers, ...limits })
}

/** Work that reports the charge for work done elsewhere. */
function spending() {
  let charged = 0
  const work: Work = {
    turn: () => nextTurn(),
    run: (piece) => piece(),
    end: () => undefined,
    charge: (ms) => void (charged += ms),
  }
  return { work, charged: () => charged }
}

function refuse(): never {
  throw new Error('nothing left')
}

/** The niceness of each thread of this process; fields of proc_pid_stat(5). */
function nicenesses(): number[] {
  const fields = (thread: string) =>
    readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return readdirSync('/proc/self/task').map((thread) => Number(fields(thread)[16]))
}

describe('compiled policies', () => {
  it.runIf(process.platform === 'linux')(
    'are compiled at a lower priority than requests',
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

  it('are compiled once for a set of policies, also by concurrent requests', async () => {
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

  it('are compiled for another caller while one fills the queue of the organization', async () => {
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

  it('decide for organizations in turns, even when one has many requests', async () => {
    const begun: string[] = []
    const small: Pick<PolicyWorker, 'open'> = {
      open() {
        const opened = workers.small.open()
        const decide: WorkerSet['decide'] = (request, now) => {
          begun.push(String(Reflect.get(Object(request), 'host')))
          return opened.decide(request, now)
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

  it('refuse decisions of a caller with too many waiting', async () => {
    const kept = open()
    const source = loader(one)
    await kept.decide(set, source, REQUEST)

    const many = await Promise.allSettled(
      Array.from({ length: 100 }, () => kept.decide(set, source, REQUEST)),
    )

    const refused = many.filter(({ status }) => status === 'rejected')
    expect(refused.length).toBe(35)
  })

  it('are not refused to a caller for the budget of another', async () => {
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
  ])('are not reused for %s', async (_title, other) => {
    const kept = open()
    const first = await kept.decide(set, loader(one), REQUEST)

    const head = other.heads[0]
    const changed = head && { ...policy(head.id, 'example.org'), revision: head.revision }
    const second = await kept.decide(other, loader(...(changed ? [changed] : [])), REQUEST)

    expect([first?.decision, second?.decision]).toEqual(['allow', 'deny'])
  })

  it('are not compiled from policies that changed since', async () => {
    const kept = open()

    expect(await kept.decide(set, loader({ ...one, revision: 2 }), REQUEST)).toBeNull()
    expect(await kept.decide(set, loader(one), REQUEST)).not.toBeNull()
  })

  it.each([
    ['resources', { maxResources: 4 }],
    ['sets', { maxSets: 2 }],
  ])('beyond a number of %s are dropped, the least recently used first', async (_of, limits) => {
    const kept = open(limits)
    const source = loader(...['a', 'b', 'c'].map((id) => policy(id, 'example.com')))
    const asked: number[] = []
    for (const id of ['a', 'b', 'a', 'c', 'a', 'b']) {
      await kept.decide(setOf(policy(id)), source, REQUEST)
      asked.push(source.times())
    }

    expect(asked).toEqual([1, 2, 2, 3, 3, 4])
  })

  it('decide up to the limit of resources', async () => {
    const kept = open({ maxResources: 4 })
    const three = policy('p', 'a.example', 'b.example', 'c.example')

    await expect(kept.decide(setOf(three), loader(three), REQUEST)).resolves.not.toBeNull()
  })

  it('are refused beyond the limit, and their policies are not read again', async () => {
    const kept = open({ maxResources: 4 })
    const policies = ['a', 'b', 'c'].map((id) => policy(id, 'one.example', 'two.example'))
    const source = loader(...policies)

    for (let asked = 0; asked < 3; asked += 1)
      await expect(kept.decide(setOf(...policies), source, REQUEST)).rejects.toMatchObject({
        status: 403,
        code: 'limit_exceeded',
      })
    // Two loads for each worker.
    expect(source.times()).toBe(4)
  })

  it('need the budget of the caller to compile, and no budget when kept', async () => {
    const kept = open()
    await kept.decide(set, loader(one), REQUEST)
    const source = { ...loader(one), begin: () => refuse() }

    await expect(kept.decide(setOf(), source, REQUEST)).rejects.toThrow('nothing left')
    await expect(kept.decide(set, source, REQUEST)).resolves.not.toBeNull()
  })

  it('are compiled by a thread that takes longer to start than their time limit', async () => {
    const file = join(temporaryDirectory(), 'slow-to-start.mjs')
    const pause = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)'
    writeFileSync(
      file,
      `${pause}\nawait import(${JSON.stringify(workerFile('policy-worker').href)})\n`,
    )
    const late = createPolicyWorker({
      startWorker: startFile(pathToFileURL(file)),
      timeLimitMs: 500,
    })
    onTestFinished(() => late.close())
    const kept = createCompiledPolicies({ workers: { small: late, large: late } })

    const decision = await kept.decide(
      setOf(policy('p', 'example.com')),
      loader(policy('p', 'example.com')),
      REQUEST,
    )

    expect(decision?.decision).toBe('allow')
  })

  it('are refused, charged and not tried again when they take too long to compile', async () => {
    const slow = createPolicyWorker({ startWorker: startBundle, timeLimitMs: 1 })
    const large = policy('p', ...Array.from({ length: 20_000 }, (_, index) => `h${index}.example`))
    const kept = createCompiledPolicies({ workers: { small: slow, large: slow } })
    const { work, charged } = spending()
    const source = { ...loader(large), begin: () => work }

    for (let asked = 0; asked < 2; asked += 1)
      await expect(kept.decide(setOf(large), source, REQUEST)).rejects.toMatchObject({
        status: 403,
        code: 'limit_exceeded',
      })
    // The additional load finds that the set is large.
    expect(source.times()).toBe(2)
    expect(charged()).toBeGreaterThan(0)
    await slow.close()
  })

  it('do not delay small sets, neither new nor kept, when they are large', async () => {
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
    // Two loads mean that the compilation has started.
    while (source.times() < 3) await nextTurn()

    await Promise.all([begun, ask(known), ask(one)])

    expect(ended.at(-1)).toBe('l')
    expect(ended).toHaveLength(3)
  })

  it('are compiled with the large sets when they are small and slow', async () => {
    const impatient = createPolicyWorker({ startWorker: startBundle, timeLimitMs: 1 })
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

  it('are compiled again in another worker after their worker has ended', async () => {
    const ending = createPolicyWorker({ startWorker: startBundle })
    const kept = createCompiledPolicies({ workers: { ...workers, small: ending } })
    const source = loader(one)
    await kept.decide(set, source, REQUEST)
    await ending.close()

    expect((await kept.decide(set, source, REQUEST))?.decision).toBe('allow')
    expect(source.times()).toBe(2)
    await ending.close()
  })

  it('are compiled one set at a time, so that no set is blamed for another', async () => {
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

  it('check the budget of the caller when their turn has come, not before', async () => {
    const kept = open()
    const policies = ['a', 'b', 'c'].map((id) => policy(id, 'example.com'))
    const { work, charged } = spending()
    const begin = () => (charged() > 0 ? refuse() : work)
    const source = { ...loader(...policies), begin }

    const answers = policies.map((each) => kept.decide(setOf(each), source, REQUEST))

    const statuses = (await Promise.allSettled(answers)).map(({ status }) => status)
    expect(statuses).toEqual(['fulfilled', 'rejected', 'rejected'])
  })

  it('are refused when too many sets wait', async () => {
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

  it('count by the length of their texts when these are long', async () => {
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
