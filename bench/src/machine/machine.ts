import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createServerClient } from '../../../packages/client/src/index.ts'
import { permissionsOf } from '../../../server/src/identity/roles.ts'
import { openDataDirectory } from '../../../server/src/operations/storage/data-directory.ts'
import { fillDataDirectory } from '../fill/fill-data-directory.ts'
import { fillMember } from '../fill/fill-organization.ts'
import { startServer, withServers, type RunningServer } from '../server/start-server.ts'
import { startAgent } from './agent-process.ts'

/** One policy less than an organization may have, for the rules of a workspace. */
const SHAPE = { policies: 99, rulesPerPolicy: 50, editors: 1, devices: 0 } as const
const ORG = 'machine-0'

/** A request that the first rule of the first policy allows. */
export const ALLOWED = {
  action: 'connect:tcp',
  host: 'service-0.machine0000000.example.com',
  port: 443,
}

export interface Machine {
  /** Copies the data directory of a stopped agent that has fetched and stored its policy. */
  copy(name: string): string
  /** The organization of the machine, as its owner. */
  readonly organization: ReturnType<typeof openOrganization>
}

/** Starts a server with one organization, enrols an agent, and stops the server after the work. */
export async function withMachine<T>(
  folder: string,
  work: (machine: Machine) => Promise<T>,
): Promise<T> {
  const serverDir = join(folder, 'server')
  await fillDataDirectory(serverDir, 'machine', 1, SHAPE)
  const owner = await addOwner(serverDir)
  return withServers({ server: await startServer(serverDir) }, async ({ server }) => {
    const organization = openOrganization(server, owner)
    const dataDir = join(folder, 'machine')
    mkdirSync(dataDir, { mode: 0o700 })
    const tokenFile = join(folder, 'enrolment-token')
    const token = { name: 'bench', max_uses: 1, expires_in_days: 1 }
    const created = await organization.enrolmentTokens.create(token)
    writeFileSync(tokenFile, created.token, { mode: 0o600 })
    const agent = await startAgent(dataDir, ALLOWED, { PALISADE_ENROLMENT_TOKEN: tokenFile })
    await agent.stop()
    const copy = (name: string): string => {
      cpSync(dataDir, join(folder, name), { recursive: true })
      return join(folder, name)
    }
    return work({ copy, organization })
  })
}

/** An owner of the organization with a personal token. */
interface Owner {
  readonly username: string
  readonly token: string
}

async function addOwner(serverDir: string): Promise<Owner> {
  const store = openDataDirectory(serverDir)
  try {
    const permissions = permissionsOf('owner')
    const owner = { org: ORG, username: 'owner', role: 'owner', permissions } as const
    return await store.transaction((writer) => fillMember(writer, owner))
  } finally {
    await store.close()
  }
}

function openOrganization({ port }: RunningServer, { username, token }: Owner) {
  return createServerClient({
    server: `http://127.0.0.1:${port}`,
    credentials: { username, secret: token },
  }).organization(ORG)
}
