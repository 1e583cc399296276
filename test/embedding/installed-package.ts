import { execFile } from 'node:child_process'
import { cp, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { packageFolder, withPeers, type PublishedPackage } from './package-files.ts'
import { removeDirectory } from '../remove-directory.ts'

const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url))
const run = promisify(execFile)

/** A project that has installed a package and its peers from the files that would be published. */
export interface Project {
  /** Published files, relative to the package. */
  readonly published: readonly string[]
  /** Runs one of the examples and returns its output. */
  runExample(name: string): Promise<string>
  /** Type-checks all examples and returns the compiler's errors. */
  checkTypes(options: Readonly<Record<string, unknown>>): Promise<string>
  remove(): void
}

/** Packs a built package with its peers and installs them in a new folder. */
export async function createProject(name: PublishedPackage): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'palisade-embedding-'))
  const folders = withPeers(name).map(packageFolder)
  const { stdout } = await run('npm', ['pack', '--json', ...folders], { cwd: folder })
  const packed = JSON.parse(stdout) as {
    readonly filename: string
    readonly files: readonly { readonly path: string }[]
  }[]
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  const quietly = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts']
  const archives = packed.map(({ filename }) => `./${filename}`)
  await run('npm', ['install', ...quietly, ...archives], { cwd: folder })
  await cp(`${packageFolder(name)}examples`, join(folder, 'examples'), { recursive: true })
  return {
    published: packed.at(-1)?.files.map(({ path }) => path) ?? [],
    runExample: async (name) => {
      const output = await run(process.execPath, [`examples/${name}`], { cwd: folder })
      return output.stdout
    },
    checkTypes: (options) => checkTypes(folder, options),
    remove: () => removeDirectory(folder),
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
