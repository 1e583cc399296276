import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { createRandom } from '../../../bench/src/workload/random.ts'
import { untilAnswered } from './until-answered.ts'
import { createWriter, type Access, type KnownPolicy, type Writer } from './writer.ts'

/** A process to kill and restore. */
export interface Victim {
  /** The current origin of the server. */
  origin(): string
  /** Kills it at once. */
  kill(): Promise<void>
  /** Restarts it and waits until the server is ready. */
  restore(): Promise<void>
  /** Throws unless the store is intact; called without concurrent writes. */
  inspect(): Promise<void>
}

export interface KillOptions {
  readonly cycles: number
  readonly seed: number
  /** A personal token that may write. */
  readonly username: string
  readonly secret: string
}

export interface KillReport {
  readonly acknowledged: number
  readonly policies: number
  readonly rules: number
}

const WRITERS = 16
/** Cycles between two inspections, which take longer than a cycle; the last is inspected too. */
const INSPECT_EVERY = 10
/** Acknowledgements before the kill. */
const MOST_BEFORE_KILL = 150

/**
 * Lets 16 writers write, kills the victim at a random time, restores it, lets every writer repeat
 * its unacknowledged request, and compares the store with the acknowledged writes. Throws at the
 * first difference.
 */
export async function runKillCycles(victim: Victim, options: KillOptions): Promise<KillReport> {
  const random = createRandom(options.seed)
  const writers = Array.from({ length: WRITERS }, (_item, index) => createWriter(index))
  let acknowledged = 0
  for (let cycle = 0; cycle < options.cycles; cycle += 1) {
    const access = await signIn(victim.origin(), options)
    const counted = await killWhileWriting(victim, writers, access, {
      afterAcknowledged: 1 + random.integer(MOST_BEFORE_KILL),
      // A commit takes a few milliseconds; the kill comes at a random time within the next ones.
      delayMs: random.next() * 8,
    })
    acknowledged += counted
    await victim.restore()
    const restored = await signIn(victim.origin(), options)
    await Promise.all(writers.map((writer) => writer.settle(restored)))
    await compare(restored, writers)
    if (cycle % INSPECT_EVERY === 0 || cycle === options.cycles - 1) await victim.inspect()
  }
  const known = writers.flatMap((writer) => [...writer.known.values()])
  const rules = known.reduce((sum, policy) => sum + policy.rules.size, 0)
  return { acknowledged, policies: known.length, rules }
}

async function killWhileWriting(
  victim: Victim,
  writers: readonly Writer[],
  access: Access,
  moment: { readonly afterAcknowledged: number; readonly delayMs: number },
): Promise<number> {
  let count = 0
  const killed = new AbortController()
  const reached = new EventTarget()
  const enough = once(reached, 'enough')
  const working = Promise.all(
    writers.map((writer) =>
      writer.work(access, killed.signal, () => {
        count += 1
        if (count === moment.afterAcknowledged) reached.dispatchEvent(new Event('enough'))
      }),
    ),
  )
  await Promise.race([enough, working])
  await pause(moment.delayMs)
  await victim.kill()
  killed.abort()
  await working
  return count
}

async function compare(access: Access, writers: readonly Writer[]): Promise<void> {
  const expected = new Map(writers.flatMap((writer) => [...writer.known]))
  const stored = await readPolicies(access)
  for (const [id, policy] of expected) {
    const found = stored.get(id)
    stored.delete(id)
    const [is, should] = [show(found), show(policy)]
    if (is !== should) throw new Error(`policy ${id} is ${is} and was acknowledged as ${should}`)
  }
  if (stored.size > 0)
    throw new Error(`no request created ${JSON.stringify([...stored.values()].map(show))}`)
}

function show(policy: KnownPolicy | undefined): string {
  return policy === undefined ? 'lost' : JSON.stringify([policy.name, [...policy.rules]])
}

/** Reads all policies of the organization in one consistent answer. */
async function readPolicies(access: Access): Promise<Map<string, KnownPolicy>> {
  const { policies } = await get<{ policies: StoredPolicy[] }>(
    access,
    '/api/v1/orgs/acme/effective-policy',
  )
  return new Map(
    policies.map(({ id, name, allowlist_v0 }) => [
      id,
      { name, rules: new Map((allowlist_v0?.rules ?? []).map((rule) => [rule.id, rule.name])) },
    ]),
  )
}

interface StoredPolicy {
  readonly id: string
  readonly name: string
  readonly allowlist_v0?: { readonly rules: readonly { id: string; name: string }[] }
}

async function get<T>({ origin, token }: Access, path: string): Promise<T> {
  const headers = { authorization: `Bearer ${token}` }
  const response = await untilAnswered(() => reach(`${origin}${path}`, { headers }))
  if (!response.ok) throw new Error(`${path} answered ${String(response.status)}`)
  return (await response.json()) as T
}

async function signIn(origin: string, { username, secret }: KillOptions): Promise<Access> {
  const response = await untilAnswered(() =>
    reach(`${origin}/v2/auth/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password: secret }),
    }),
  )
  const body = (await response.json()) as { access_token?: string }
  if (body.access_token === undefined) throw new Error(`sign-in failed: ${JSON.stringify(body)}`)
  return { origin, token: body.access_token }
}

async function reach(url: string, init: RequestInit): Promise<Response | null> {
  const response = await fetch(url, init)
  return response.status === 503 ? null : response
}
