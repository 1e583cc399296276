import type { Check } from '../../../packages/cli/src/doctor/check.ts'
import { formatChecks } from '../../../packages/cli/src/doctor/doctor-command.ts'
import { checkSandbox } from '../../../packages/cli/src/doctor/sandbox-checks.ts'
import type { Captured } from '../../../packages/cli/src/runtime/programs/capture-program.ts'
import { createStyle } from '../../../packages/cli/src/terminal/style.ts'

type Answer = (words: readonly string[]) => Captured | null

/** A machine with a part missing: how its programs answer, and its settings of the kernel. */
interface Stage {
  readonly title: string
  readonly note: string
  readonly answer: Answer
  readonly settings?: Readonly<Record<string, string>>
  readonly platform?: string
}

const ended = (code: number, output: string): Captured => ({ kind: 'ended', code, output })
const isMade = (words: readonly string[]): boolean => words[0] === 'unshare' && words.length > 2
const without =
  (...missing: readonly string[]): Answer =>
  ([name = '']) =>
    missing.includes(name) ? { kind: 'missing' } : null
/** Refuses to make namespaces with this complaint. */
const refusing =
  (complaint: string): Answer =>
  (words) =>
    isMade(words) ? ended(1, `unshare: ${complaint}\n`) : null

const NOT_PERMITTED = 'unshare failed: Operation not permitted'

export const STAGES: readonly Stage[] = [
  { title: 'Nothing is missing', note: 'Sandboxes can be made.', answer: () => null },
  {
    title: 'bubblewrap is not installed',
    note: 'It makes the view of a sandbox.',
    answer: without('bwrap'),
  },
  {
    title: 'bubblewrap is too old',
    note: 'Earlier versions cannot keep a command from making namespaces of its own.',
    answer: ([name]) => (name === 'bwrap' ? ended(0, 'bubblewrap 0.6.2\n') : null),
  },
  {
    title: 'nft is not installed',
    note: 'It leads the connections of a sandbox to the agent.',
    answer: without('nft'),
  },
  {
    title: 'Several programs are not installed',
    note: 'One command installs all.',
    answer: without('bwrap', 'nft', 'ip'),
  },
  {
    title: 'The kernel has no nftables',
    note: 'A module may be missing, or the provider of a virtual machine may not offer it.',
    answer: (words) =>
      words.includes('sh')
        ? ended(1, 'Error: Could not process rule: Operation not supported\n')
        : null,
  },
  {
    title: 'User namespaces are off',
    note: 'Some administrators set the limit to 0.',
    answer: refusing('unshare failed: No space left on device'),
    settings: { '/proc/sys/user/max_user_namespaces': '0' },
  },
  {
    title: 'User namespaces are for root alone',
    note: 'A setting of the kernels of Debian.',
    answer: refusing(NOT_PERMITTED),
    settings: { '/proc/sys/kernel/unprivileged_userns_clone': '0' },
  },
  {
    title: 'AppArmor restricts user namespaces',
    note: 'Ubuntu 24.04 and later.',
    answer: refusing('write failed /proc/self/uid_map: Operation not permitted'),
    settings: { '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1' },
  },
  {
    title: 'In a container',
    note: 'The usual settings of a container permit no namespaces. The options were not tried.',
    answer: refusing(NOT_PERMITTED),
  },
  {
    title: 'In a container that hides a part of /proc',
    note: 'Namespaces can be made, but not with a /proc of their own.',
    answer: refusing('mount /proc failed: Operation not permitted'),
  },
  {
    title: 'Elsewhere than Linux',
    note: 'The proxy, check, explain, sync and status work there.',
    answer: () => null,
    platform: 'darwin',
  },
]

/** The lines of `palisade doctor` about sandboxes on the machine of a stage. */
export async function showStage({ answer, settings = {}, platform }: Stage): Promise<string> {
  const checks = await checkSandbox({
    platform: platform ?? 'linux',
    directory: '/home/dev/project/.palisade/agent',
    captureProgram: async (words) =>
      answer(words) ?? ended(0, words[0] === 'bwrap' ? 'bubblewrap 0.8.0\n' : ''),
    readSetting: (path) => settings[path] ?? null,
  })
  return formatLines(checks)
}

export function formatLines(checks: readonly Check[]): string {
  return formatChecks(checks, createStyle(false))
}

/** `docs/doctor-screens.md`. */
export async function makeScreensPage(): Promise<string> {
  const parts = await Promise.all(
    STAGES.map(async (stage) => {
      const lines = await showStage(stage)
      return `## ${stage.title}\n\n${stage.note}\n\n\`\`\`text\n${lines}\`\`\`\n`
    }),
  )
  return `${HEAD}\n${parts.join('\n')}`
}

const HEAD = `# Screens of \`palisade doctor\`

Each screen shows the lines about sandboxes on a machine with one part missing, and the line that
counts them. A warning leaves the exit code at 0: the proxy enforces without sandboxes. On such a
machine \`palisade run\` refuses; there is no weaker mode.

A test writes this page from the program's own text and fails when the text changes
(\`test/cli/doctor/doctor-screens.process.test.ts\`). The answers of the machine are staged. Three of the
machines are also made for the test: without bubblewrap, with an old one, and without user
namespaces.
`
