import { readFileSync } from 'node:fs'
import type { CaptureProgram, Captured } from '../runtime/programs/capture-program.ts'
import { ok, skip, warn, type Check } from './check.ts'

export interface SandboxCheckDeps {
  readonly platform: string
  readonly captureProgram: CaptureProgram
  /** The directory of the agent, in which strict sandboxes keep changes. */
  readonly directory: string
  /** The first line of a file of the kernel; null where it does not exist. */
  readonly readSetting: (path: string) => string | null
}

/** Programs that `palisade run` uses, with their packages of Debian and Ubuntu. */
const PROGRAMS = [
  ['bwrap', 'bubblewrap'],
  ['nft', 'nftables'],
  ['ip', 'iproute2'],
  ['unshare', 'util-linux'],
  ['nsenter', 'util-linux'],
  ['setpriv', 'util-linux'],
] as const
/** Programs of the system alone, and English messages. */
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
const TIMEOUT_MS = 10_000
/**
 * Options of unshare(1) with which a sandbox is made. A container often hides parts of /proc, and
 * then refuses a new one.
 */
const MAKE = [
  '--user',
  '--map-root-user',
  '--net',
  '--mount',
  '--pid',
  '--fork',
  '--mount-proc',
  '--',
] as const
/** The first version that can keep a command from making namespaces (`--disable-userns`). */
const LEAST_BUBBLEWRAP = [0, 8] as const

const APPARMOR = '/proc/sys/kernel/apparmor_restrict_unprivileged_userns'
const CLONE = '/proc/sys/kernel/unprivileged_userns_clone'
const MOST = '/proc/sys/user/max_user_namespaces'

/**
 * Whether `palisade run` can make sandboxes here, each missing part with its mend. Warnings, not
 * failures: the proxy enforces without sandboxes.
 */
export async function checkSandbox(deps: SandboxCheckDeps): Promise<readonly Check[]> {
  if (deps.platform !== 'linux')
    return [skip('sandbox', '`palisade run` makes sandboxes on Linux only')]
  const missing = await findMissing(deps)
  if (missing.length > 0) {
    const programs = missing.map(([name]) => `\`${name}\``).join(', ')
    const packages = [...new Set(missing.map(([, from]) => from))].join(' ')
    return [
      warn('sandbox', `${programs} is not installed`, `apt-get install ${packages}, or the like`),
    ]
  }
  const namespaces = await checkNamespaces(deps)
  const staged = namespaces.outcome === 'ok' ? [await checkStaged(deps)] : []
  return [await checkBubblewrap(deps), namespaces, ...staged]
}

async function findMissing({ captureProgram }: SandboxCheckDeps) {
  const found = await Promise.all(
    PROGRAMS.map(([name]) => captureProgram([name, '--version'], ENVIRONMENT, TIMEOUT_MS)),
  )
  return PROGRAMS.filter((_, index) => found[index]?.kind === 'missing')
}

async function checkBubblewrap({ captureProgram }: SandboxCheckDeps): Promise<Check> {
  const told = outputOf(await captureProgram(['bwrap', '--version'], ENVIRONMENT, TIMEOUT_MS))
  const [version, major, minor] = /(\d+)\.(\d+)[.\d]*/.exec(told) ?? []
  const isOld =
    Number(major) < LEAST_BUBBLEWRAP[0] ||
    (Number(major) === LEAST_BUBBLEWRAP[0] && Number(minor) < LEAST_BUBBLEWRAP[1])
  if (version === undefined)
    return warn('bubblewrap', 'does not tell its version', 'install bubblewrap again')
  if (isOld) return warn('bubblewrap', `${version} is too old`, 'install bubblewrap 0.8.0 or later')
  return ok('bubblewrap', version)
}

/** Makes the namespaces of a sandbox, and the rules of its network, and drops them again. */
async function checkNamespaces({ captureProgram, readSetting }: SandboxCheckDeps): Promise<Check> {
  const made = await captureProgram(['unshare', ...MAKE, 'true'], ENVIRONMENT, TIMEOUT_MS)
  if (!isDone(made)) return describeRefusal(outputOf(made), readSetting)
  const script = 'ip link set lo up && nft add table inet palisade_doctor'
  const network = await captureProgram(
    ['unshare', ...MAKE, 'sh', '-c', script],
    ENVIRONMENT,
    TIMEOUT_MS,
  )
  if (!isDone(network))
    return warn(
      'namespaces',
      `the network of a sandbox cannot be set up: ${firstLine(outputOf(network))}`,
      'load the kernel module nf_tables (`modprobe nf_tables nft_redir`), or ask the provider of ' +
        'this machine for it',
    )
  return ok('namespaces', 'a sandbox can be made')
}

/** Hides a name in an overlay, in a directory that goes away again. */
const HIDE_NAME = String.raw`
cd -- "$1" && directory=$(mktemp -d ./.palisade-doctor-XXXXXX) && cd "$directory" || exit
trap 'chmod -R u+rwX . && cd .. && rm -rf -- "$directory"' EXIT
mkdir mask lower upper work merged && echo >lower/name && mknod mask/name c 0 0 &&
  mount -n -t overlay -o "$2" palisade merged || exit
[ ! -e merged/name ] && echo >merged/other && [ -e upper/other ]
status=$?
umount merged
exit $status
`
const OVERLAY =
  'userxattr,redirect_dir=nofollow,index=off,metacopy=off,' +
  'lowerdir=mask:lower,upperdir=upper,workdir=work'

/** Whether `palisade run --strict` can stage changes beside the files of the agent. */
async function checkStaged({ captureProgram, directory }: SandboxCheckDeps): Promise<Check> {
  const make = ['--user', '--map-root-user', '--mount', '--', 'sh', '-c', HIDE_NAME] as const
  const words = ['unshare', ...make, 'palisade', directory, OVERLAY] as const
  const staged = await captureProgram(words, ENVIRONMENT, TIMEOUT_MS)
  if (isDone(staged)) return ok('strict', '`palisade run --strict` can keep changes apart')
  return warn(
    'strict',
    `\`palisade run --strict\` is refused: ${firstLine(outputOf(staged))}`,
    'use Linux 5.11 or later, and a data directory on a disk with ext4, XFS or Btrfs',
  )
}

function describeRefusal(output: string, readSetting: SandboxCheckDeps['readSetting']): Check {
  const refused = (why: string, mend: string): Check => warn('namespaces', why, mend)
  if (readSetting(APPARMOR) === '1')
    return refused(
      'AppArmor keeps users from making namespaces',
      'install a profile that lets /usr/bin/unshare and /usr/bin/bwrap make them ' +
        '(docs/sandbox.md has it)',
    )
  if (readSetting(CLONE) === '0')
    return refused(
      'the kernel keeps users from making namespaces',
      'as root: sysctl -w kernel.unprivileged_userns_clone=1',
    )
  if (readSetting(MOST) === '0')
    return refused(
      'the kernel permits no user namespace',
      'as root: sysctl -w user.max_user_namespaces=10000',
    )
  return refused(
    `namespaces are refused: ${firstLine(output)}`,
    'in a container, start it with `--security-opt seccomp=unconfined --security-opt ' +
      'apparmor=unconfined --security-opt systempaths=unconfined`',
  )
}

/** Reads a setting of the kernel. */
export function readKernelSetting(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return null
  }
}

function isDone(captured: Captured): boolean {
  return captured.kind === 'ended' && captured.code === 0
}

function outputOf(captured: Captured): string {
  return captured.kind === 'ended' ? captured.output : `no answer (${captured.kind})`
}

function firstLine(text: string): string {
  return text.trim().split('\n', 1)[0] ?? ''
}
