import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { PACKAGE } from './package-files.ts'

const TSC = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))
const run = promisify(execFile)

/** A project that has installed the package from the files that would be published. */
export interface Project {
  /** Published files, relative to the package. */
  readonly published: readonly string[]
  /** Runs one of the examples and returns its output. */
  runExample(name: string): Promise<string>
  /** Type-checks all examples and returns the compiler's errors. */
  checkTypes(options: Readonly<Record<string, unknown>>): Promise<string>
  remove(): Promise<void>
}

/** Packs the built package and installs it in a new folder. */
export async function createProject(): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'palisade-embedding-'))
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: PACKAGE,
  })
  const [packed] = JSON.parse(stdout) as {
    readonly filename: string
    readonly files: readonly { readonly path: string }[]
  }[]
  if (packed === undefined) throw new Error('npm packed nothing')
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const quietly = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...quietly, `./${packed.filename}`], { cwd: folder })
  await cp(`${PACKAGE}examples`, join(folder, 'examples'), { recursive: true })
  return {
    published: packed.files.map(({ path }) => path),
    runExample: async (name) => {
      const output = await run(process.execPath, [`examples/${name}`], { cwd: folder })
      return output.stdout
    },
    checkTypes: (options) => checkTypes(folder, options),
    remove: () => rm(folder, { recursive: true }),
  }
}

async function checkTypes(folder: string, options: object): Promise<string> {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: [],
    lib: ['es2022', 'dom'],
    ...options,
  }
  const config = { compilerOptions, include: ['examples'] }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  try {
    await run(process.execPath, [TSC, '-p', folder], { cwd: folder })
    return ''
  } catch (error) {
    return String((error as { readonly stdout?: unknown }).stdout)
  }
}
