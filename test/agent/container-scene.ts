import { createDeviceKey, keepName } from '@palisade/client'
import type { Policy } from '@palisade/policy-core'
import { UPDATE_PATH } from '@palisade/protocol'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { readConfig } from '../../agent/src/host/config/config.ts'
import { readParentAccess } from '../../agent/src/host/config/read-parent-access.ts'
import type { AgentEnvironment } from '../../agent/src/agent.ts'
import { createContainer, createParts, RESOLVE } from '../../agent/src/container.ts'
import type { Resolve } from '../../agent/src/proxy/target/resolver.ts'
import { NOW_MS, type RuleLine } from './fixture/bundle.ts'
import { askAgent } from './fixture/local-request.ts'
import { packBundle } from './fixture/pack-bundle.ts'
import { temporaryDirectory } from './fixture/temporary-directory.ts'
import type { Served } from './fixture/pack-bundle.ts'
import { createRepository, rulesOf, type Repository } from './fixture/view-repository.ts'

/** A complete agent with a fixed clock and a network that serves one release. */
export async function startAgent(
  rule: RuleLine,
  lines: unknown[] = [],
  place: {
    directory?: string
    settings?: Record<string, string>
    repository?: Repository
    served?: Served
    sent?: unknown[]
    localPolicies?: readonly Policy[]
    name?: string
    resolve?: Resolve
  } = {},
): Promise<string> {
  const directory = place.directory ?? (await temporaryDirectory())
  // tuf-js reads the clock of the process.
  vi.useFakeTimers({ toFake: ['Date'], now: NOW_MS })
  onTestFinished(() => void vi.useRealTimers())
  const repository = place.repository ?? createRepository()
  const served = place.served ?? repository.release(rulesOf(rule))
  const config = readConfig(
    { PALISADE_DATA_DIR: directory, PALISADE_PROXY_PORT: '0', ...place.settings },
    '/',
  )
  await mkdir(join(directory, 'agent'), { recursive: true, mode: 0o700 })
  const parts = createParts({ config })
  if (place.resolve !== undefined) parts.register(RESOLVE, { useValue: place.resolve })
  const surroundings: AgentEnvironment = {
    config,
    parentAccess: config.parentProxy && (await readParentAccess(config.parentProxy)),
    enrolment: keepName(repository.enrolment, place.name),
    key: createDeviceKey(),
    localPolicies: place.localPolicies ?? [],
    localDenies: [],
    home: '/home/dev',
    version: '0.0.0',
    log: {
      error: () => {},
      warn: () => {},
      info: (line: unknown) => lines.push(line),
      debug: () => {},
    },
    clock: () => NOW_MS,
    uptime: () => 0,
    random: () => 0.5,
    fetch: async (url, init) => {
      const { pathname } = new URL(url)
      if (typeof init.body === 'string') place.sent?.push([pathname, JSON.parse(init.body)])
      const token = { access_token: 'pal_dat_x', token_type: 'DPoP', expires_in: 3600 }
      const answers = new Map<string, string>([
        ...served,
        ['/api/v1/device/token', JSON.stringify(token)],
      ])
      if (served.size > 0) answers.set(UPDATE_PATH, packBundle(served).toString())
      const body = answers.get(pathname)
      const headers = { 'content-type': 'application/json' }
      return new Response(body ?? '{}', { headers, status: body === undefined ? 404 : 200 })
    },
    machineAddresses: () => ['198.51.100.9'],
    onError: (error) => void lines.push(error),
    maxConnections: 64,
  }
  const { agent } = createContainer(surroundings, parts)
  await agent.start()
  onTestFinished(() => agent.stop())
  await askAgent(config.socketPath, 'POST', '/v1/sync')
  return config.socketPath
}
