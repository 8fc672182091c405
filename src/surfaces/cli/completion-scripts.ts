/** One script per shell: it passes the words of the line to `millrace __complete`. */
export const completionScripts: Readonly<Record<'bash' | 'zsh' | 'fish' | 'powershell', string>> = {
  bash: `# millrace completion for bash
_millrace() {
  local IFS=$'\\n'
  COMPREPLY=($(millrace __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [[ \${#COMPREPLY[@]} -eq 0 ]] && compopt -o default
}
complete -F _millrace millrace`,
  zsh: `#compdef millrace
_millrace() {
  local -a found
  found=("\${(@f)$(millrace __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -a found; else _files; fi
}
if [[ "$funcstack[1]" == "_millrace" ]]; then _millrace "$@"; else compdef _millrace millrace; fi`,
  fish: `# millrace completion for fish
function __millrace_complete
  set -l words (commandline -opc) (commandline -ct)
  millrace __complete -- $words[2..-1] 2>/dev/null
end
complete -c millrace -a '(__millrace_complete)'`,
  powershell: `# millrace completion for PowerShell
Register-ArgumentCompleter -Native -CommandName millrace -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { "$_" })
  if ($wordToComplete -eq '') { $words += '' }
  millrace __complete -- @words 2>$null | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}`,
}
