import { startSandbox, type AgentAddress } from '@palisade/client'
import type { SandboxRequest } from '@palisade/protocol'
import { describe, expect, it } from 'vitest'
import { envelope, startLoopbackServer } from '../loopback-server.ts'

const REQUEST: SandboxRequest = { workspaces: [], directory: '/', variables: {} }
const LAUNCH = { id: '1', program: '/bin/sh', arguments: ['-c', ''], warnings: [] }
const READY = { body: { outcome: 'ready', launch: LAUNCH, error: null } }
const BUSY = envelope(429, 'limit_exceeded')

function addressOf(url: string): AgentAddress {
  return { port: Number(new URL(url).port) }
}

describe('startSandbox', () => {
  it('waits for a turn while the agent starts too many sandboxes', async () => {
    await using agent = await startLoopbackServer((_, count) => (count < 4 ? BUSY : READY))
    const pauses: number[] = []
    let waits = 0
    const answer = await startSandbox(addressOf(agent.url), REQUEST, {
      onWait: () => (waits += 1),
      pause: async (ms) => pauses.push(ms),
    })
    expect(answer).toEqual({ kind: 'ready', launch: LAUNCH })
    expect([pauses, waits]).toEqual([[1000, 1000, 1000], 1])
  })

  it('gives up after five minutes, with a sentence for people', async () => {
    await using agent = await startLoopbackServer(() => BUSY)
    const answer = await startSandbox(addressOf(agent.url), REQUEST, { pause: async () => {} })
    expect(answer).toMatchObject({ kind: 'refused', code: 'limit_exceeded' })
    expect(answer).toHaveProperty('message', expect.stringContaining('within 5 minutes'))
    expect(agent.seen).toHaveLength(301)
  })

  it.each(['ready', 'failed'])('asks once when the agent answers %s', async (outcome) => {
    const error = { code: 'limit_exceeded', message: 'at most 100 sandboxes run at once' }
    const failed = { body: { outcome: 'failed', launch: null, error } }
    await using agent = await startLoopbackServer(() => (outcome === 'ready' ? READY : failed))
    const onWait = (): never => {
      throw new Error('nothing to wait for')
    }
    await startSandbox(addressOf(agent.url), REQUEST, { onWait })
    expect(agent.seen).toHaveLength(1)
  })
})
