import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDataDirectory } from '../../../server/src/operations/storage/data-directory.ts'
import { startServer } from '../server/cases/request-rows.ts'
import { fillDataDirectory } from '../server/fill/fill-data-directory.ts'
import { fillMember } from '../server/fill/fill-organization.ts'
import type { MeasuredProcess } from '../server/measured-process.ts'
import { exchange } from '../server/requests.ts'
import { startAgent } from './agent-process.ts'

/** The policy that the machine enforces. */
export const SHAPE = { policies: 100, rulesPerPolicy: 50 } as const
export const ORG = 'machine-0'
/** An address on which no server listens. */
const UNREACHABLE = 'http://127.0.0.1:1'

/** A request that the first rule of the first policy allows. */
export const ALLOWED = {
  action: 'connect:tcp',
  host: 'service-0.machine0000000.example.com',
  port: 443,
}

export interface Machine {
  /** Data directory of a stopped agent that has fetched and stored its policy. */
  readonly dataDir: string
  readonly server: MeasuredProcess
  /** Data directory of the server. */
  readonly serverDir: string
  readonly owner: Owner
}

/** An owner of the organization with a personal token. */
export interface Owner {
  readonly username: string
  readonly token: string
}

/** Starts a server with one organization and enrols an agent. */
export async function prepareMachine(
  folder: string,
  shape: { readonly policies: number; readonly rulesPerPolicy: number } = SHAPE,
): Promise<Machine> {
  const serverDir = join(folder, 'server')
  await fillDataDirectory(serverDir, 'machine', 1, { ...shape, editors: 1, devices: 0 })
  const owner = await addOwner(serverDir)
  const server = await startServer(serverDir)
  try {
    const dataDir = join(folder, 'machine')
    mkdirSync(dataDir, { mode: 0o700 })
    const tokenFile = join(folder, 'enrolment-token')
    writeFileSync(tokenFile, await createEnrolmentToken(server.port, owner), { mode: 0o600 })
    const agent = await startAgent(dataDir, ALLOWED, { PALISADE_ENROLMENT_TOKEN: tokenFile })
    await agent.stop()
    return { dataDir, server, serverDir, owner }
  } catch (error) {
    await server.stop()
    throw error
  }
}

/** Copies the data directory of a machine. */
export function copyMachine(dataDir: string, to: string): string {
  cpSync(dataDir, to, { recursive: true })
  return to
}

/** Points the machine at an address without a server. */
export function loseServer(dataDir: string): void {
  moveServer(dataDir, UNREACHABLE)
}

/** Points the machine at another server. */
export function moveServer(dataDir: string, server: string): void {
  const path = join(dataDir, 'agent', 'enrolment.json')
  const enrolment: object = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...enrolment, server }), { mode: 0o600 })
}

async function addOwner(serverDir: string): Promise<Owner> {
  const store = openDataDirectory(serverDir)
  try {
    const permissions = ['organization:admin', 'policies:read', 'policies:write'] as const
    const owner = { org: ORG, username: 'owner', role: 'owner', permissions } as const
    return await store.transaction((writer) => fillMember(writer, owner))
  } finally {
    await store.close()
  }
}

async function createEnrolmentToken(port: number, { username, token }: Owner): Promise<string> {
  const access = await exchange(port, username, token)
  const url = `http://127.0.0.1:${port}/api/v1/orgs/${ORG}/enrolment-tokens`
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${access}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', max_uses: 1, expires_in_days: 1 }),
  })
  if (response.status !== 201)
    throw new Error(`no enrolment token: ${response.status} ${await response.text()}`)
  return ((await response.json()) as { token: string }).token
}
