import { createServer } from 'node:http'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createAgent, type Agent } from '../../agent/src/agent.ts'
import type { EnforcementPoint } from '../../agent/src/enforcement/enforcement-point.ts'
import { HINTS_OFF } from '../../agent/src/sync/hint/hint-listener.ts'
import { activePolicy } from './fixture/active-policy.ts'
import { temporaryDirectory } from './fixture/temporary-directory.ts'

/** An enforcement point that records its starts and stops. */
function createPoint(
  name: string,
  events: string[],
  failing: { readonly start?: Error; readonly stop?: Error } = {},
): EnforcementPoint {
  const act = async (what: 'start' | 'stop'): Promise<void> => {
    events.push(`${what} ${name}`)
    if (failing[what] !== undefined) throw failing[what]
  }
  return {
    name: 'proxy',
    start: () => act('start'),
    stop: () => act('stop'),
    describe: () => name,
  }
}

/** An agent with these points and no server. */
async function createScene(
  points: readonly EnforcementPoint[],
  restored: string[] = [],
): Promise<{ readonly agent: Agent; readonly socketPath: string }> {
  const { active } = activePolicy()
  const socketPath = join(await temporaryDirectory(), 'agent', 'agent.sock')
  const nothing = async (): Promise<void> => {}
  const note = (name: string) => async () => void restored.push(name)
  const outcome = { outcome: 'unchanged', revision: null, error: null, retryAfterMs: null } as const
  const agent = createAgent({
    localApi: createServer(),
    socketPath,
    users: 'own',
    points,
    sandboxes: { recover: nothing, stop: nothing },
    recorder: { stop: nothing },
    spent: { restore: note('spent grants') },
    synchronizer: {
      restoreTime: note('time'),
      restore: async () => (restored.push('policies'), null),
      keepTime: nothing,
    },
    breakGlass: {
      restore: note('break-glass'),
      stop: nothing,
      remainingMs: () => null,
      tick: nothing,
    },
    poller: {
      start: () => {},
      subscribe: () => {},
      demand: async () => outcome,
      hinted: async () => null,
      inTurn: async (run) => run(new AbortController().signal),
      nextAttemptAt: () => null,
      stop: nothing,
    },
    reporter: { notice: () => {}, holdBack: () => {}, stop: nothing },
    uploader: { stop: nothing },
    hints: HINTS_OFF,
    prober: { start: () => {}, stop: nothing },
    active,
    uptime: () => 0,
    onError: () => {},
    log: { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} },
  })
  onTestFinished(() => agent.stop().catch(() => {}))
  return { agent, socketPath }
}

describe('an agent', () => {
  it('restores the time first, by which a grant counts as spent', async () => {
    const restored: string[] = []
    const { agent } = await createScene([], restored)

    await agent.start()

    expect(restored).toEqual(['time', 'spent grants', 'policies', 'break-glass'])
  })

  it('starts its points in order and stops them in reverse order', async () => {
    const events: string[] = []
    const { agent } = await createScene([createPoint('one', events), createPoint('two', events)])

    await agent.start()
    await agent.stop()
    await agent.stop()

    expect(events).toEqual(['start one', 'start two', 'stop two', 'stop one'])
  })

  it('closes everything when a point fails to start, including that point', async () => {
    const events: string[] = []
    const start = new Error('cannot start')
    const { agent, socketPath } = await createScene([
      createPoint('one', events),
      createPoint('two', events, { start }),
      createPoint('three', events),
    ])

    await expect(agent.start()).rejects.toBe(start)

    expect(events).toEqual(['start one', 'start two', 'stop two', 'stop one'])
    await expect(access(socketPath)).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('reports why a point failed to start although another one fails to stop', async () => {
    const events: string[] = []
    const start = new Error('cannot start')
    const { agent } = await createScene([
      createPoint('one', events),
      createPoint('two', events, { stop: new Error('cannot stop') }),
      createPoint('three', events, { start }),
    ])

    await expect(agent.start()).rejects.toBe(start)

    expect(events.slice(-2)).toEqual(['stop two', 'stop one'])
  })

  it('stops all other points when one fails to stop, and reports the failure', async () => {
    const events: string[] = []
    const stop = new Error('cannot stop')
    const { agent } = await createScene([
      createPoint('one', events),
      createPoint('two', events, { stop }),
    ])
    await agent.start()

    await expect(agent.stop()).rejects.toBe(stop)

    expect(events).toEqual(['start one', 'start two', 'stop two', 'stop one'])
  })
})
