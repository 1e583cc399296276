import { rmSync } from 'node:fs'
import { formatColumns } from './columns.ts'
import { CommandFailure } from '../platform/command-failure.ts'
import { readPassphrase } from './passphrase.ts'
import { readTextFile, writePrivateFile } from './private-file.ts'
import { withStore } from './with-store.ts'
import type { Config } from '../config/config.ts'
import { readKeyStatus } from '../views/keys/key-status.ts'
import { createDistributionKey, isPrivate, openRoleKey } from '../views/keys/role-key.ts'
import {
  rotateDistributionKeys,
  type Rotation,
  type RotationRequest,
} from '../views/keys/rotate-distribution-keys.ts'
import { decryptRootKey, encryptRootKey } from '../views/keys/root-key-file.ts'
import { signAllViews, type SignedViews } from '../views/publication/sign-all-views.ts'
import { ensureTrust, findKey } from '../views/keys/trust.ts'
import { createAuditedStore } from '../history/audit/audited-store.ts'
import { OPERATOR } from '../history/author.ts'
import type { Sources } from '../platform/sources.ts'
import type { DistributionKeyRecord, DistributionRole } from '../store/distribution-records.ts'
import type { Store } from '../store/store.ts'

export interface StatusOptions {
  readonly json?: true
}

export interface RootKeyOptions {
  readonly org: string
  readonly passphraseFile?: string
  readonly json?: true
}

export interface ExportRootOptions extends RootKeyOptions {
  readonly out: string
}

export interface SignRootOptions extends RootKeyOptions {
  readonly rootKey: string
}

export interface RotateOptions extends RootKeyOptions {
  readonly role: DistributionRole
  readonly compromised?: true
  /** File of the root key, where it is kept apart. */
  readonly rootKey?: string
  /** File of the next one. */
  readonly out?: string
}

/** `keys status` */
export async function keyStatusCommand(
  config: Config,
  { now }: Sources,
  { json }: StatusOptions,
): Promise<void> {
  await withStore(config, 'existing', async (store) => {
    const data = await store.read(async (reader) => {
      const names = await reader.organizations.names()
      const each = names.map((name) => readKeyStatus(reader, name, now()))
      return (await Promise.all(each)).flat()
    })
    print(json, { data }, () =>
      formatColumns([
        ['ORGANIZATION', 'ROLE', 'KEY', 'CREATED', 'EXPIRES', 'KEPT', 'DUE'],
        ...data.map(({ org, role, kid, created_at, expires_at, on_server, renewal_at, due }) => [
          org,
          role,
          kid,
          created_at,
          expires_at,
          on_server ? 'on the server' : 'apart',
          due === 'nothing'
            ? `next root ${renewal_at}`
            : `run \`keys sign-root --org ${org}\` before it expires`,
        ]),
      ]),
    )
  })
}

/** `keys export-root` */
export async function exportRootCommand(
  config: Config,
  { now }: Sources,
  { org, out, passphraseFile, json }: ExportRootOptions,
): Promise<void> {
  const passphrase = await readPassphrase(passphraseFile, { isNew: true })
  await withStore(config, 'existing', async (store) => {
    await requireOrganization(store, org)
    const audited = createAuditedStore({ store, now })
    const key = await audited.write(OPERATOR, async (writer) => {
      await ensureTrust(writer, org, now())
      return findKey(await writer.trust.keys(org), 'root', org)
    })
    if (!isPrivate(key))
      throw new CommandFailure('refused', `the root key of \`${org}\` is not on this server`)
    writeKeyFile(out, key, passphrase)
    await audited.write(OPERATOR, (writer) => writer.trust.forgetPrivateKey(org, key.kid))
    print(
      json,
      { org, kid: key.kid, file: out },
      () =>
        `moved the root key of \`${org}\` from the database to \`${out}\`\n` +
        'Keep two copies in safe places. Older backups still contain the key. The server works\n' +
        'without it; `palisade-server keys status` shows when the next root must be signed.\n',
    )
  })
}

/** `keys sign-root` */
export async function signRootCommand(
  config: Config,
  sources: Sources,
  options: SignRootOptions,
): Promise<void> {
  const passphrase = await readPassphrase(options.passphraseFile, { isNew: false })
  await withStore(config, 'existing', async (store) => {
    const rootKey = readKeyFile(options, passphrase, options.rootKey, sources)
    const { root } = await rotate(store, sources, {
      org: options.org,
      roles: [],
      rootKey: openRoleKey(rootKey),
      nextRootKey: null,
    })
    const { version, expires_at } = root
    print(
      options.json,
      { org: options.org, version, expires_at },
      () => `root ${version} of \`${options.org}\` is signed; it expires at ${expires_at}\n`,
    )
  })
}

/** `keys rotate --role` */
export async function rotateDistributionKeyCommand(
  config: Config,
  sources: Sources,
  options: RotateOptions,
): Promise<void> {
  const { org, role, out } = options
  if (options.rootKey !== undefined && role === 'root' && out === undefined)
    throw new CommandFailure('usage', 'write `--out FILE` for the next root key')
  if (out !== undefined && (options.rootKey === undefined || role !== 'root'))
    throw new CommandFailure('usage', '`--out` needs `--role root` and `--root-key FILE`')
  const passphrase =
    options.rootKey === undefined
      ? ''
      : await readPassphrase(options.passphraseFile, { isNew: false })
  await withStore(config, 'existing', async (store) => {
    await requireOrganization(store, org)
    const file = options.rootKey
    const former = file === undefined ? null : readKeyFile(options, passphrase, file, sources)
    const nextRootKey = out === undefined ? null : createDistributionKey(org, 'root', sources.now())
    if (out !== undefined && nextRootKey !== null) writeKeyFile(out, nextRootKey, passphrase)
    try {
      const { keys, root } = await rotate(store, sources, {
        org,
        roles: rolesOf(options),
        rootKey: former && openRoleKey(former),
        nextRootKey,
      })
      const views =
        options.compromised === true ? await signAllViews(store, org, sources.now) : null
      printRotation(options, keys, root.version, views)
    } catch (error) {
      if (error instanceof CommandFailure && out !== undefined) rmSync(out)
      throw error
    }
  })
}

/** A thief of one key may have the others, and versions restart only if all keys are new. */
function rolesOf({ role, compromised }: RotateOptions): DistributionRole[] {
  return compromised === true ? [...new Set([role, 'targets', 'online'] as const)] : [role]
}

async function rotate(store: Store, { now }: Sources, request: RotationRequest): Promise<Rotation> {
  const rotation = await rotateDistributionKeys(
    createAuditedStore({ store, now }),
    OPERATOR,
    request,
    now(),
  )
  if (rotation === 'root_key_apart')
    throw new CommandFailure(
      'refused',
      `the root key of \`${request.org}\` is not on this server; write \`--root-key FILE\``,
    )
  if (rotation === 'other_root_key')
    throw new CommandFailure(
      'refused',
      `the file has another key than the root key of \`${request.org}\`; ` +
        'see `palisade-server keys status`',
    )
  return rotation
}

function printRotation(
  { org, json }: RotateOptions,
  keys: readonly DistributionKeyRecord[],
  version: number,
  views: SignedViews | null,
): void {
  const shown = keys.map(({ role, kid }) => ({ role, kid }))
  print(json, { org, keys: shown, root_version: version, ...(views && { views }) }, () =>
    [
      ...shown.map(({ role, kid }) => `the ${role} key of \`${org}\` is \`${kid}\` from now on`),
      `root ${version} is signed; machines accept it at their next poll`,
      ...(views === null ? [] : [`${views.signed} views were signed again`]),
      ...(views?.refused ?? []).map((reason) => `not signed: ${reason}`),
      '',
    ].join('\n'),
  )
}

async function requireOrganization(store: Store, org: string): Promise<void> {
  if ((await store.read((reader) => reader.organizations.find(org))) === null)
    throw new CommandFailure('refused', `there is no organization \`${org}\``)
}

/** Reads it again, because the key in the database goes away afterwards. */
function writeKeyFile(path: string, key: DistributionKeyRecord, passphrase: string): void {
  writePrivateFile(path, encryptRootKey(key, passphrase))
  const read = decryptRootKey(readTextFile(path), passphrase, key)
  if (read?.kid !== key.kid || read.private_jwk.d !== key.private_jwk.d)
    throw new CommandFailure('refused', `\`${path}\` differs from what was written to it`)
}

function readKeyFile(
  { org }: RootKeyOptions,
  passphrase: string,
  path: string,
  { now }: Sources,
): DistributionKeyRecord {
  const about = { org, created_at: now().toISOString() }
  const key = decryptRootKey(readTextFile(path), passphrase, about)
  if (key !== null) return key
  throw new CommandFailure(
    'refused',
    `\`${path}\` does not contain a root key, or the passphrase is wrong`,
  )
}

function print(json: true | undefined, value: object, text: () => string): void {
  process.stdout.write(json === true ? `${JSON.stringify(value)}\n` : text())
}
