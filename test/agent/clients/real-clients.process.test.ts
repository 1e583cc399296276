import { describe, expect, it } from 'vitest'
import { ALLOWED, DENIED, startClientScene } from './client-scene.ts'
import { CLIENTS } from './clients.ts'
import { hasProgram, runClient } from './run-client.ts'

describe('a program with the environment of `palisade env`', () => {
  it.for(CLIENTS)('reaches an allowed host: $program $way', async (client, { skip }) => {
    skip(!hasProgram(client.program), `${client.program} is not installed`)
    const scene = await startClientScene()
    const { proxy, env } = scene

    const run = await runClient(client.command(ALLOWED, scene), env)

    expect(run.output).toContain(client.reached)
    expect(run.code, run.output).toBe(client.reachedCode ?? 0)
    expect(proxy.decisions.length).toBeGreaterThan(0)
    for (const decision of proxy.decisions)
      expect(decision).toMatchObject({ decision: 'allow', request: { host: ALLOWED } })
    expect(new Set(proxy.resolved)).toEqual(new Set([ALLOWED]))
  })

  it.for(CLIENTS)('shows that a host is denied: $program $way', async (client, { skip }) => {
    skip(!hasProgram(client.program), `${client.program} is not installed`)
    const scene = await startClientScene()
    const { proxy, env } = scene

    const run = await runClient(client.command(DENIED, scene), env)

    const port = portOf(proxy.decisions[0]?.request)
    expect(run.output).toContain(client.refused(`${DENIED}:${port}`))
    expect(run.output).not.toContain(client.reached)
    expect(run.code).toBe(client.refusedCode)
    for (const decision of proxy.decisions)
      expect(decision).toMatchObject({ decision: 'deny', reason: 'default_deny' })
    expect(proxy.resolved).toEqual([])
    expect(proxy.dialled).toEqual([])
  })
})

function portOf(request: object | null | undefined): number {
  return request !== null && request !== undefined && 'port' in request ? Number(request.port) : 0
}
