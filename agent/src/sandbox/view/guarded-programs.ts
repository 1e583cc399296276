/**
 * Day of the listing, program, documentation without `https://`, and relative paths at any depth,
 * separated by spaces. `*` is a part of a name.
 */
type Row = readonly [since: string, program: string, source: string, paths: string]

/**
 * Files of a project that programs outside the sandbox run or obey on their own: settings and hooks
 * of version control, tasks and settings of editors, coding agents, shells and package managers. A
 * sandbox that could write them would act outside later. Sources that a person builds or runs by a
 * command, such as `Makefile` and `package.json`, are not listed, and neither is prose such as
 * `AGENTS.md`. The parts of a repository of git are in `guarded-names.ts`.
 */
const ROWS: readonly Row[] = [
  // Version control
  ['2026-11-28', 'Husky', 'typicode.github.io/husky/', '.husky'],
  // Editors
  ['2026-11-28', 'VS Code', 'code.visualstudio.com/docs/editing/workspaces/workspaces', '.vscode'],
  [
    '2026-11-28',
    'IDEs of JetBrains',
    'jetbrains.com/help/idea/run-debug-configuration.html',
    '.idea',
  ],
  ['2026-11-28', 'Zed', 'zed.dev/docs/tasks', '.zed'],
  ['2026-11-28', 'Development containers', 'containers.dev/implementors/spec/', '.devcontainer'],
  // Coding agents
  ['2026-11-28', 'Claude Code', 'code.claude.com/docs/en/settings', '.claude .mcp.json'],
  ['2026-11-28', 'Cursor', 'cursor.com/docs', '.cursor'],
  ['2026-11-28', 'Codex', 'developers.openai.com/codex', '.codex'],
  ['2026-11-28', 'Gemini CLI', 'geminicli.com/docs', '.gemini'],
  ['2026-11-28', 'Windsurf', 'docs.windsurf.com', '.windsurf'],
  ['2026-11-28', 'Aider', 'aider.chat/docs/config/aider_conf.html', '.aider.conf.yml'],
  // Shells, debuggers and package managers, which read them before they do what they were asked
  ['2026-11-28', 'direnv', 'direnv.net/man/direnv.1.html', '.envrc'],
  ['2026-11-28', 'Palisade', 'the page docs/profiles.md', '.palisade.yaml'],
]

/** The paths of the list, each as the names of its segments. */
export const GUARDED_PATHS: readonly (readonly string[])[] = ROWS.flatMap(([, , , paths]) =>
  paths.split(' ').map((path) => path.split('/')),
)
