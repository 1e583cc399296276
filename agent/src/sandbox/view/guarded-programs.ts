/**
 * Day of the listing, program, documentation without `https://`, and relative paths at any depth,
 * separated by spaces. `*` is a part of a name.
 */
type Row = readonly [since: string, program: string, source: string, paths: string]

/**
 * Files of a project that programs outside the sandbox run or obey on their own: settings and hooks
 * of version control, tasks and settings of editors, coding agents, shells, interpreters and
 * package managers. A sandbox that could write them would act outside later. Sources that a person
 * builds or runs by a command, such as `Makefile` and `package.json`, are not listed. Neither are
 * prose such as `AGENTS.md` and files that a package manager installs, such as `.pnp.cjs`. The
 * parts of a repository of git are in `guarded-names.ts`.
 */
const ROWS: readonly Row[] = [
  // Version control
  ['2026-11-29', 'Mercurial', 'mercurial-scm.org/doc/hgrc.5.html', '.hg/hgrc .hg/hgrc-not-shared'],
  ['2026-11-29', 'Mercurial', 'wiki.mercurial-scm.org/ShareExtension', '.hg/sharedpath'],
  ['2026-11-29', 'Jujutsu', 'docs.jj-vcs.dev/latest/config/', '.jj/repo/config.toml'],
  ['2026-11-29', 'Jujutsu', 'docs.jj-vcs.dev/latest/config/', '.jj/workspace-config.toml'],
  ['2026-11-29', 'Sapling', 'sapling-scm.com/docs/commands/config/', '.sl/config'],
  ['2026-11-28', 'Husky', 'typicode.github.io/husky/', '.husky'],
  ['2026-11-29', 'Lefthook', 'lefthook.dev/configuration/', 'lefthook.yml lefthook.yaml'],
  ['2026-11-29', 'Lefthook', 'lefthook.dev/configuration/', 'lefthook.toml lefthook.json'],
  ['2026-11-29', 'Lefthook', 'lefthook.dev/configuration/', '.lefthook.yml .lefthook.yaml'],
  ['2026-11-29', 'Lefthook', 'lefthook.dev/configuration/', '.lefthook.toml .lefthook.json'],
  [
    '2026-11-29',
    'Lefthook',
    'lefthook.dev/configuration/',
    'lefthook-local.yml lefthook-local.yaml',
  ],
  [
    '2026-11-29',
    'Lefthook',
    'lefthook.dev/configuration/',
    'lefthook-local.toml lefthook-local.json',
  ],
  [
    '2026-11-29',
    'Lefthook',
    'lefthook.dev/configuration/',
    '.lefthook-local.yml .lefthook-local.yaml',
  ],
  [
    '2026-11-29',
    'Lefthook',
    'lefthook.dev/configuration/',
    '.lefthook-local.toml .lefthook-local.json',
  ],
  ['2026-11-29', 'pre-commit', 'pre-commit.com', '.pre-commit-config.yaml'],
  ['2026-11-29', 'Overcommit', 'github.com/sds/overcommit', '.overcommit.yml'],
  ['2026-11-29', 'Trunk', 'docs.trunk.io', '.trunk'],
  // Editors
  ['2026-11-28', 'VS Code', 'code.visualstudio.com/docs/editing/workspaces/workspaces', '.vscode'],
  ['2026-11-29', 'VS Code', 'code.visualstudio.com/docs/editing/workspaces', '*.code-workspace'],
  [
    '2026-11-28',
    'IDEs of JetBrains',
    'jetbrains.com/help/idea/run-debug-configuration.html',
    '.idea',
  ],
  [
    '2026-11-29',
    'IDEs of JetBrains',
    'jetbrains.com/help/idea/run-debug-configuration.html',
    '.run',
  ],
  ['2026-11-29', 'Fleet', 'jetbrains.com/help/fleet/run-configurations.html', '.fleet'],
  ['2026-11-28', 'Zed', 'zed.dev/docs/tasks', '.zed'],
  ['2026-11-29', 'Theia', 'theia-ide.org/docs/', '.theia'],
  ['2026-11-29', 'Helix', 'docs.helix-editor.com/configuration.html', '.helix'],
  ['2026-11-29', 'Visual Studio', 'learn.microsoft.com/visualstudio/ide/', '.vs'],
  ['2026-11-29', 'Sublime Text', 'sublimetext.com/docs/projects.html', '*.sublime-project'],
  ['2026-11-29', 'Vim', 'vimhelp.org/options.txt.html', '.exrc .vimrc .gvimrc'],
  ['2026-11-29', 'Neovim', 'neovim.io/doc/user/options.html', '.nvim.lua .nvimrc'],
  ['2026-11-29', 'Emacs', 'gnu.org/software/emacs/manual/', '.dir-locals.el .dir-locals-2.el'],
  ['2026-11-28', 'Development containers', 'containers.dev/implementors/spec/', '.devcontainer'],
  [
    '2026-11-29',
    'Development containers',
    'containers.dev/implementors/spec/',
    '.devcontainer.json',
  ],
  ['2026-11-29', 'Haskell Language Server', 'github.com/haskell/hie-bios', 'hie.yaml'],
  ['2026-11-29', 'YouCompleteMe', 'github.com/ycm-core/YouCompleteMe', '.ycm_extra_conf.py'],
  ['2026-11-29', 'Pylint', 'pylint.readthedocs.io', 'pylintrc .pylintrc'],
  ['2026-11-29', 'Pylint', 'pylint.readthedocs.io', 'pylintrc.toml .pylintrc.toml'],
  // Coding agents
  ['2026-11-28', 'Claude Code', 'code.claude.com/docs/en/settings', '.claude .mcp.json'],
  ['2026-11-28', 'Cursor', 'cursor.com/docs', '.cursor'],
  ['2026-11-29', 'Cursor', 'cursor.com/docs', '.cursorrules'],
  ['2026-11-28', 'Codex', 'developers.openai.com/codex', '.codex'],
  ['2026-11-29', 'Codex', 'developers.openai.com/codex', '.agents'],
  ['2026-11-28', 'Gemini CLI', 'geminicli.com/docs', '.gemini'],
  ['2026-11-28', 'Windsurf', 'docs.windsurf.com', '.windsurf'],
  ['2026-11-29', 'Windsurf', 'docs.windsurf.com', '.windsurfrules'],
  ['2026-11-28', 'Aider', 'aider.chat/docs/config/aider_conf.html', '.aider.conf.yml'],
  ['2026-11-29', 'OpenCode', 'opencode.ai/docs/config/', '.opencode opencode.json opencode.jsonc'],
  ['2026-11-29', 'Kiro', 'kiro.dev/docs/', '.kiro'],
  ['2026-11-29', 'Roo Code', 'docs.roocode.com', '.roo .roomodes .roorules'],
  ['2026-11-29', 'Kilo Code', 'kilo.ai/docs', '.kilocode'],
  ['2026-11-29', 'Cline', 'docs.cline.bot', '.cline .clinerules'],
  ['2026-11-29', 'Continue', 'docs.continue.dev', '.continue .continuerc.json'],
  ['2026-11-29', 'Amazon Q', 'docs.aws.amazon.com/amazonq/', '.amazonq'],
  ['2026-11-29', 'GitHub Copilot', 'docs.github.com/en/copilot', '.copilot .github/copilot'],
  ['2026-11-29', 'GitHub Copilot', 'docs.github.com/en/copilot', '.github/hooks'],
  ['2026-11-29', 'Qwen Code', 'qwenlm.github.io/qwen-code-docs/', '.qwen'],
  ['2026-11-29', 'Crush', 'github.com/charmbracelet/crush', 'crush.json .crush.json .crush'],
  ['2026-11-29', 'Junie', 'junie.jetbrains.com/docs/', '.junie'],
  ['2026-11-29', 'Augment', 'docs.augmentcode.com', '.augment'],
  ['2026-11-29', 'Factory', 'docs.factory.ai', '.factory'],
  ['2026-11-29', 'Amp', 'ampcode.com/manual', '.amp'],
  ['2026-11-29', 'Trae', 'docs.trae.ai', '.trae'],
  ['2026-11-29', 'OpenHands', 'docs.openhands.dev', '.openhands'],
  // Shells, interpreters, debuggers and package managers, which read them before they do what they
  // were asked
  ['2026-11-28', 'direnv', 'direnv.net/man/direnv.1.html', '.envrc'],
  ['2026-11-29', 'mise', 'mise.jdx.dev/configuration.html', 'mise.toml mise.*.toml .config/mise'],
  ['2026-11-29', 'mise', 'mise.jdx.dev/configuration.html', '.mise .mise.toml .mise.*.toml'],
  ['2026-11-29', 'mise', 'mise.jdx.dev/configuration.html', '.config/mise.toml'],
  ['2026-11-29', 'GDB', 'sourceware.org/gdb/current/onlinedocs/gdb', '.gdbinit'],
  ['2026-11-29', 'LLDB', 'lldb.llvm.org/man/lldb.html', '.lldbinit'],
  ['2026-11-29', 'npm', 'docs.npmjs.com/cli/configuring-npm/npmrc', '.npmrc'],
  ['2026-11-29', 'pnpm', 'pnpm.io/pnpmfile', '.pnpmfile.cjs .pnpmfile.mjs'],
  ['2026-11-29', 'Yarn', 'yarnpkg.com/configuration/yarnrc', '.yarnrc .yarnrc.yml'],
  ['2026-11-29', 'Yarn', 'yarnpkg.com/configuration/yarnrc', '.yarn/plugins .yarn/releases'],
  ['2026-11-29', 'Bun', 'bun.com/docs/runtime/bunfig', 'bunfig.toml'],
  ['2026-11-29', 'Cargo', 'doc.rust-lang.org/cargo/reference/config.html', '.cargo/config'],
  ['2026-11-29', 'Cargo', 'doc.rust-lang.org/cargo/reference/config.html', '.cargo/config.toml'],
  ['2026-11-29', 'rustup', 'rust-lang.github.io/rustup/overrides.html', 'rust-toolchain'],
  ['2026-11-29', 'rustup', 'rust-lang.github.io/rustup/overrides.html', 'rust-toolchain.toml'],
  ['2026-11-29', 'asdf', 'asdf-vm.com/manage/configuration.html', '.tool-versions'],
  ['2026-11-29', 'mise', 'mise.jdx.dev/configuration.html', 'mise/config.toml mise/config.*.toml'],
  ['2026-11-29', 'Maven', 'maven.apache.org/configure.html', '.mvn'],
  ['2026-11-29', 'sbt', 'scala-sbt.org/1.x/docs/Command-Line-Reference.html', '.jvmopts .sbtopts'],
  ['2026-11-29', 'Bazel', 'bazel.build/run/bazelrc', '.bazelrc'],
  ['2026-11-29', 'Bazelisk', 'github.com/bazelbuild/bazelisk', '.bazeliskrc .bazelversion'],
  ['2026-11-29', 'Bundler', 'bundler.io/man/bundle-config.1.html', '.bundle/config .bundle/plugin'],
  ['2026-11-29', 'Ansible', 'docs.ansible.com/ansible/latest/reference_appendices', 'ansible.cfg'],
  ['2026-11-29', 'R', 'stat.ethz.ch/R-manual/R-devel/library/base', '.Rprofile .Renviron .RData'],
  ['2026-11-29', 'GHCi', 'downloads.haskell.org/ghc/latest/docs/users_guide/ghci.html', '.ghci'],
  ['2026-11-29', 'IRB', 'ruby.github.io/irb/Configurations_md.html', '.irbrc irb.rc'],
  ['2026-11-29', 'IRB', 'ruby.github.io/irb/Configurations_md.html', '_irbrc $irbrc'],
  ['2026-11-29', 'Pry', 'github.com/pry/pry/wiki/Pry-rc', '.pryrc'],
  ['2026-11-29', 'Debugger of Python', 'docs.python.org/3/library/pdb.html', '.pdbrc'],
  ['2026-11-29', 'Debugger of Perl', 'perldoc.perl.org/perldebug', '.perldb'],
  ['2026-11-29', 'IEx', 'hexdocs.pm/iex/IEx.html', '.iex.exs'],
  ['2026-11-29', 'OCaml', 'ocaml.org/manual/toplevel.html', '.ocamlinit'],
  ['2026-11-29', 'Octave', 'docs.octave.org/latest/Startup-Files.html', '.octaverc'],
  ['2026-11-28', 'Palisade', 'the page docs/profiles.md', '.palisade.yaml'],
]

/** The list. */
export const GUARDED_PROGRAMS = ROWS.map(([since, program, source, paths]) => ({
  since,
  program,
  source,
  paths: paths.split(' '),
}))

/** The paths of the list, each as the names of its segments. */
export const GUARDED_PATHS: readonly (readonly string[])[] = GUARDED_PROGRAMS.flatMap(({ paths }) =>
  paths.map((path) => path.split('/')),
)
