import type { LocalRulesResult } from '@palisade/protocol'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { claimSocket, listenOnSocket } from '../../../agent/src/local-api/listen-on-socket.ts'
import { listPolicies } from '../../../agent/src/local-api/list-policies.ts'
import { createLocalApi, type LocalApiDeps } from '../../../agent/src/local-api/local-api.ts'
import { activePolicy } from '../fixture/active-policy.ts'
import { REFUSING_API } from '../fixture/refusing-api.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

/** A local API whose routes answer at once, and the names of the changes that were asked for. */
export async function startApi(deps: Pick<LocalApiDeps, 'admit'>) {
  const { active } = activePolicy()
  const changes: string[] = []
  const change =
    <T>(name: string, result: T) =>
    async (): Promise<T> => {
      changes.push(name)
      return result
    }
  const synced = { outcome: 'unchanged', revision: 7, error: null } as const
  const denies: LocalRulesResult = { outcome: 'unchanged', denies: [], error: null }
  const grant = { outcome: 'ended', grant: null, error: null } as const
  const server = createLocalApi({
    ...REFUSING_API,
    ...deps,
    decide: async (value) => active.decide(value),
    decideUnresolved: (value) => active.decide(value),
    explain: async (value) => active.explain(value),
    policies: () => listPolicies(active),
    addDeny: change('addDeny', denies),
    removeDenies: change('removeDenies', denies),
    sync: change('sync', synced),
    import: change('import', synced),
    beginBreakGlass: change('beginBreakGlass', grant),
    endBreakGlass: change('endBreakGlass', grant),
    log: async function* () {},
    verifyLog: change('verifyLog', {
      intact: true,
      lines: 0,
      files: 0,
      lost: 0,
      faults: [],
      head: null,
    }),
  })
  const socketPath = join(await temporaryDirectory(), 'agent', 'agent.sock')
  await claimSocket(socketPath)
  await listenOnSocket(server, socketPath)
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { socketPath, changes }
}
