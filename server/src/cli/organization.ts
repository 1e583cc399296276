import { organizationNameSchema, usernameSchema } from '@palisade/protocol'
import type { z } from 'zod'
import {
  createOrganization,
  type CreatedOrganization,
} from '../organizations/create-organization.ts'
import { CommandFailure } from '../platform/command-failure.ts'
import type { Config } from '../config/config.ts'
import { createAuditedStore } from '../history/audit/audited-store.ts'
import type { Sources } from '../platform/sources.ts'
import { StoreError } from '../store/store-error.ts'
import type { Store, StoreReader } from '../store/store.ts'
import { hasRecords } from './drop-evidence.ts'
import { withStore } from './with-store.ts'

export interface InitOptions {
  readonly org: string
  readonly owner: string
  readonly json?: true
  readonly ifEmpty?: true
  readonly device?: string
}

export interface CreateOrganizationOptions {
  readonly org: string
  readonly owner: string
  readonly withoutGovernance?: true
  readonly json?: true
}

class NotEmpty extends CommandFailure {}

/** `init`: the first organization of an empty store. */
export async function initCommand(
  config: Config,
  { now, random, newId }: Sources,
  options: InitOptions,
): Promise<void> {
  checkNames(options)
  await withStore(config, 'create', async (store) => {
    if (!(await store.read((reader) => knowsDevice(reader, options)))) {
      const outcome = { outcome: 'unknown_device', org: options.org, device_id: options.device }
      if (options.json === true) process.stdout.write(`${JSON.stringify(outcome)}\n`)
      throw new CommandFailure(
        'refused',
        `organization \`${options.org}\` has no device \`${options.device}\` on this server; ` +
          'another server enrolled it',
      )
    }
    try {
      if ((await store.read(({ organizations }) => organizations.count())) === 0)
        await refuseFormerRecords(config, store, options.org)
      const request = { name: options.org, owner: options.owner, entitled: true }
      const created = await createOrganization(
        { store: createAuditedStore({ store, now }), now, random, newId },
        request,
        async (writer) => {
          if ((await writer.organizations.count()) > 0)
            throw new NotEmpty(
              'refused',
              'there is an organization already; use `palisade-server org create` to add another',
            )
        },
      )
      printCreated(created, options.json === true)
    } catch (error) {
      if (error instanceof NotEmpty && options.ifEmpty === true) return
      throw error
    }
  })
}

/** A machine that another server has enrolled must not get an organization of its own here. */
async function knowsDevice(
  reader: StoreReader,
  { org, device }: Pick<InitOptions, 'org' | 'device'>,
): Promise<boolean> {
  return device === undefined || (await reader.devices.find(org, device)) !== null
}

/** `org create`: one more organization. */
export async function createOrganizationCommand(
  config: Config,
  { now, random, newId }: Sources,
  options: CreateOrganizationOptions,
): Promise<void> {
  checkNames(options)
  await withStore(config, 'create', async (store) => {
    const entitled = options.withoutGovernance !== true
    const request = { name: options.org, owner: options.owner, entitled }
    await refuseFormerRecords(config, store, options.org)
    try {
      const created = await createOrganization(
        { store: createAuditedStore({ store, now }), now, random, newId },
        request,
      )
      printCreated(created, options.json === true)
    } catch (error) {
      if (error instanceof StoreError && error.subject === 'organization')
        throw new CommandFailure('refused', `organization \`${options.org}\` exists already`)
      throw error
    }
  })
}

/**
 * Evidence names organizations, and a restore does not remove records. A new organization must not
 * read those of a former one.
 */
async function refuseFormerRecords(
  config: Config,
  store: Pick<Store, 'read'>,
  org: string,
): Promise<void> {
  const found = await store.read(({ organizations }) => organizations.find(org))
  if (found !== null || !(await hasRecords(config, org))) return
  throw new CommandFailure(
    'refused',
    `there are decision records of a former organization \`${org}\`; remove them first: ` +
      `\`palisade-server evidence drop --org ${org}\``,
  )
}

function checkNames({ org, owner }: { readonly org: string; readonly owner: string }): void {
  checkName('organization', organizationNameSchema, org)
  checkName('owner', usernameSchema, owner)
}

function checkName(what: string, schema: z.ZodType, name: string): void {
  const result = schema.safeParse(name)
  if (result.success) return
  const [issue] = result.error.issues
  throw new CommandFailure('usage', `${what} \`${name}\` ${issue?.message ?? 'is not a name'}`)
}

function printCreated(created: CreatedOrganization, json: boolean): void {
  process.stdout.write(json ? `${JSON.stringify(created)}\n` : describe(created))
}

function describe({ org, username, password, personal_token }: CreatedOrganization): string {
  if (personal_token === null)
    return [
      `organization    ${org}`,
      `owner           ${username}, an existing user: invited, and a member after accepting`,
      '',
      `${username} accepts with: palisade invitation accept ${org}`,
      '',
    ].join('\n')
  return [
    `organization    ${org}`,
    `owner           ${username}`,
    `password        ${password ?? '(unchanged)'}`,
    `personal token  ${personal_token}`,
    '',
    'Store these now; they are not shown again.',
    '',
    'The root key that machines trust is on this server. Anyone with it controls their policies.',
    `Move it off the server: palisade-server keys export-root --org ${org} --out FILE`,
    '',
  ].join('\n')
}
