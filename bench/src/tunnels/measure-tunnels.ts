import { join } from 'node:path'
import { measureCases, type Subject } from '../figures/subject.ts'
import type { Rows } from '../figures/table.ts'
import { startAgent } from '../machine/agent-process.ts'
import { addLoopbackRule, type LoopbackRule } from '../machine/loopback-rule.ts'
import { ALLOWED, withMachine } from '../machine/machine.ts'
import { freePort } from '../process/free-port.ts'
import { startScript } from '../process/start-script.ts'
import { measureBulk, measureLoad } from './measure-load.ts'
import { measureHeld } from './measure-held.ts'
import { startPeers } from './peers.ts'

const FULL = {
  rounds: 5,
  /** Connections and requests of one round. */
  connections: 2_000,
  requests: 20_000,
  bulkBytes: 99_999_999,
  held: 8_000,
  holders: 16,
} as const

const QUICK = {
  rounds: 1,
  connections: 400,
  requests: 4_000,
  bulkBytes: 20_000_000,
  held: 500,
  holders: 4,
} as const

export const tunnels: Subject = {
  name: 'tunnels',
  about: 'processor time of the proxy beside other proxies, memory of tunnels',
  minutes: 6,
  cases: ['held', 'new', 'kept', 'absolute', 'bulk'],
  measure(run) {
    const { rounds, connections, requests, bulkBytes, held, holders } = run.quick ? QUICK : FULL
    return withMachine(run.folder, async (machine) => {
      const target = await startScript(join(import.meta.dirname, 'target.ts'))
      const stops = [target.stop]
      try {
        const port = await freePort()
        const settings = { PALISADE_PROXY_PORT: String(port) }
        const agent = await startAgent(machine.copy('tunnels'), ALLOWED, settings)
        stops.push(agent.stop)
        const allow = async (): Promise<LoopbackRule> => {
          const rule = await addLoopbackRule(machine)
          await agent.sync()
          return rule
        }
        let allowed: Promise<LoopbackRule> | null = null
        const peers = await startPeers(run.folder, target.port, run.note)
        stops.push(...peers.map(({ stop }) => stop))
        const proxies = [...peers, { ...agent, name: 'palisade', port }]
        const at = { proxies, target: `127.0.0.1:${target.port}`, rounds }
        const load = async (kind: string, count: number, perSecond: number): Promise<Rows> => {
          await (allowed ??= allow())
          return measureLoad(at, { kind, count, perSecond })
        }
        return await measureCases(run, {
          // First, when the agent has had no load.
          held: async () =>
            measureHeld({ agent, port, target: at.target, rule: await allow() }, { held, holders }),
          new: () => load('new', connections, 800),
          kept: () => load('kept', requests, 4_000),
          absolute: () => load('absolute', connections, 800),
          bulk: async () => {
            await (allowed ??= allow())
            return measureBulk(at, bulkBytes)
          },
        })
      } finally {
        for (const stop of stops.toReversed()) await stop()
      }
    })
  },
}
