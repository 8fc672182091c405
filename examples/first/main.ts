/** Runs the named programs of this folder, or all of them, one after the other. */
const programs = ['queue', 'job', 'flow', 'collector', 'schedule', 'inbox']
const chosen = process.argv.slice(2)

if (chosen.every((name) => programs.includes(name))) {
  for (const name of chosen.length === 0 ? programs : chosen) {
    console.log(`--- ${name}.ts`)
    await import(`./${name}.ts`)
  }
} else {
  console.error(`Usage: npm run example:first -- [${programs.join('|')}] ...`)
  process.exitCode = 2
}
