import { deviceNameSchema, type Enrolment } from '@palisade/protocol'
import { resolve } from 'node:path'
import { withStore } from './with-store.ts'
import { CommandFailure } from '../platform/command-failure.ts'
import type { Config } from '../config/config.ts'
import { isOrigin } from '../config/environment-schema.ts'
import { createDeviceKey } from '../fleet/enrolment/device-key.ts'
import { enrolDevice } from '../fleet/enrolment/enrol-device.ts'
import { prepareEnrolmentFile, type EnrolmentFile } from '../fleet/enrolment/enrolment-file.ts'
import type { Sources } from '../platform/sources.ts'
import { createAuditedStore } from '../history/audit/audited-store.ts'
import { OPERATOR } from '../history/author.ts'
import type { Store, StoreReader } from '../store/store.ts'

export interface EnrolOptions {
  readonly org: string
  readonly user?: string
  readonly name?: string
  readonly server: string
  readonly out: string
  readonly force?: true
  readonly json?: true
}

/** `device enrol`: a device with its key and enrolment file; a failure leaves neither. */
export async function enrolDeviceCommand(
  config: Config,
  sources: Sources,
  options: EnrolOptions,
): Promise<void> {
  if (!isOrigin(options.server))
    throw new CommandFailure(
      'usage',
      '`--server` must be an origin such as `https://palisade.example.com`, without a path',
    )
  const name = readName(options.name)
  await withStore(config, 'existing', async (store) => {
    await store.read((reader) => requireEnrollable(reader, options))
    const path = resolve(options.out)
    const files: EnrolmentFile[] = []
    try {
      // The agent looks for it there, beside the enrolment.
      for (const file of [`${path}.key`, path]) files.push(await prepare(file, options, sources))
      await publish(store, sources, { ...options, name }, files)
    } catch (error) {
      for (const file of files) await file.discard()
      throw error
    }
  })
}

async function requireEnrollable(
  reader: StoreReader,
  { org, user }: Pick<EnrolOptions, 'org' | 'user'>,
): Promise<void> {
  const organization = await reader.organizations.find(org)
  if (organization === null)
    throw new CommandFailure('refused', `there is no organization \`${org}\``)
  if (!organization.entitled)
    throw new CommandFailure('refused', `organization \`${org}\` is not entitled to use governance`)
  if (user !== undefined && (await reader.memberships.find(org, user)) === null)
    throw new CommandFailure('refused', `\`${user}\` is not a member of \`${org}\``)
}

async function prepare(
  path: string,
  options: EnrolOptions,
  sources: Sources,
): Promise<EnrolmentFile> {
  try {
    return await prepareEnrolmentFile(path, {
      replace: options.force === true,
      suffix: sources.newId(),
    })
  } catch (error) {
    throw unwritable(path, error)
  }
}

async function publish(
  store: Store,
  sources: Sources,
  options: Omit<EnrolOptions, 'name'> & { readonly name: string | null },
  [keyFile, enrolmentFile]: readonly EnrolmentFile[],
): Promise<void> {
  const { key, thumbprint } = await createDeviceKey()
  const audited = createAuditedStore({ store, now: sources.now })
  const enrolment = await audited.write(OPERATOR, async (writer) => {
    await requireEnrollable(writer, options)
    const { org, user = null, name, server } = options
    const device = { org, user, thumbprint, name, labels: [], enrolment_token_id: null }
    return enrolDevice(sources, writer, device, { server })
  })
  try {
    await keyFile?.publish(key)
    const { name } = options
    await enrolmentFile?.publish(name === null ? enrolment : { ...enrolment, name })
  } catch (error) {
    const revokedAt = sources.now().toISOString()
    await audited.write(OPERATOR, (writer) => writer.devices.revoke(enrolment.device_id, revokedAt))
    throw unwritable(options.out, error)
  }
  printEnrolled(enrolment, options)
}

function readName(text: string | undefined): string | null {
  if (text === undefined) return null
  const parsed = deviceNameSchema.safeParse(text)
  if (parsed.success) return parsed.data
  throw new CommandFailure(
    'usage',
    `\`--name\` ${parsed.error.issues[0]?.message ?? 'is not a name'}`,
  )
}

function unwritable(path: string, error: unknown): unknown {
  if (error instanceof CommandFailure || !(error instanceof Error && 'code' in error)) return error
  return error.code === 'EEXIST'
    ? new CommandFailure('refused', `\`${path}\` exists already; use --force to replace it`)
    : new CommandFailure('refused', `\`${path}\` cannot be written (${String(error.code)})`)
}

function printEnrolled(
  { device_id, org, user }: Enrolment,
  options: Pick<EnrolOptions, 'out' | 'json'>,
): void {
  const file = resolve(options.out)
  const whom = user === null ? 'nobody' : `\`${user}\``
  process.stdout.write(
    options.json === true
      ? `${JSON.stringify({ device_id, org, user, file })}\n`
      : `enrolled device ${device_id} of \`${org}\` for ${whom}; ` +
          `its enrolment file is ${file}, its private key in ${file}.key\n`,
  )
}
