"""The function words of each language, lower case, accents folded. Data only.

They do two jobs: they are dropped from text and query, and they vote for the language that a text
is written in. A language with no list here is never voted for, so its words are treated as the
script's default language would treat them, in the text and in the query alike.
"""

from __future__ import annotations

_LISTS = {
    "english": """a about above after again against all am an and any are aren as at be because
        been before being below between both but by can cannot could couldn d did didn do does
        doesn doing don down during each few for from further had hadn has hasn have haven having
        he her here hers herself him himself his how i if in into is isn it its itself just ll m
        me more most mustn my myself no nor not now of off on once only or other our ours
        ourselves out over own re s same shan she should shouldn so some such t than that the
        their theirs them themselves then there these they this those through to too under until
        up ve very was wasn we were weren what when where which while who whom why will with won
        would wouldn you your yours yourself yourselves""",
    "german": """aber als am an auch auf aus bei bin bis das dass dem den der des die dir doch du
        durch ein eine einem einen einer eines er es fur hat haben hatte hier ich ihm ihn ihr im
        in ist ja kann kein keine man mein mich mir mit nach nicht noch nur oder ohne sehr sein
        seine sich sie sind so uber um und uns unter vom von vor war waren warum was weil wenn
        wer werden wie wir wird wo wurde zu zum zur zwischen""",
    "french": """ai au aux avec c ce ces cette d dans de des du elle elles en est et etait ete
        etre eu il ils j je l la le les leur leurs lui m ma mais me mes mon n ne nous on ont ou
        par pas pour qu que qui quand s sa sans se ses son sont sur t ta te tes toi ton tu un une
        vos votre vous y a""",
    "spanish": """a al algo con como cuando de del desde donde el ella ellas ellos en entre era es
        esta este esto estos fue ha han hasta hay la las le les lo los mas me mi mis muy no nos o
        para pero por porque que quien se ser si sin sobre son su sus tambien te tiene tu un una
        uno unos y ya yo""",
    "italian": """a ad ai al alla alle anche che chi ci come con cosa da dal dalla dei del della
        delle dello di dove e ed era gli ha hanno ho i il in io la le lei lo loro lui ma mi mio
        ne nei nel nella noi non o per perche piu quale quando quello questa questo se sei si
        sono su sua sul sulla suo ti tra tu un una uno vi voi""",
    "portuguese": """a ao aos as com como da das de dela dele do dos e ela elas ele eles em
        entre era essa esse esta este eu foi ha isso isto ja mais mas me meu minha muito na nao
        nas nem no nos o onde os ou para pela pelo por porque quando que quem se sem ser seu sua
        sao tambem te tem um uma voce""",
    "dutch": """aan al als bij dan dat de der deze die dit door een en er had heb hebben heeft
        het hij hoe hun ik in is je kan maar me meer met mijn na naar niet nog nu of om omdat onder
        ons ook op over te tegen toen tot uit u van veel voor waar wanneer want waren was wat
        we werd wie wij wordt worden zal ze zich zij zijn zo zonder""",
    "swedish": """alla att av blev da de dem den denna det detta dig din du dar efter ej eller
        en er ett fran for ha hade han har henne hennes hon honom hur har i icke inte ja jag kan
        man med men mig min mot mycket nar ni nu nagot och om oss pa sa sedan sig sin som till
        under upp ut vad var vara vi vid vill""",
    "danish": """af alle at blev blive da de dem den denne der deres det dette dig din du efter
        eller en end er et for fra ham han har have havde hende her hun hvad hvis hvor i ikke
        ind jeg jer kan man med meget men mig min nar nogen nu og om op os over pa sa sig skal
        som til ud under var ved vi vil""",
    "norwegian": """av alle at ble bli da de dem den denne der deres det dette deg din du etter
        eller en enn er et for fra ham han har hadde henne her hun hva hvis hvor i ikke inn jeg
        kan man med meget men meg min nar noen na og om opp oss over pa sa seg skal som til ut
        under var ved vi vil""",
    "finnish": """ei en ett etta han hanen he hyvin ja jo joka jos kanssa kuin kun kuka me
        mika mina minun missa mita mutta myos ne niin nyt oli olla ole olen on ovat se sen siella
        siita sina sinun ta tai taman tama tassa te tuo vain vaan""",
    "hungarian": """a az azt azok ben csak de egy el en es ez ezek ezt fel ha hogy hol ide igen
        is itt ki le lesz meg mely mert mi mikor mint most nagyon nem nincs o ok ott pedig s
        sem te ti vagy van vannak volt""",
    "romanian": """a ai ale am ar are as au ca care cand ce cel cu cum da de din dupa e ea ei el
        ele este eu fi fost ii in intre la le lui mai mea mi nu o pe pentru prin sa sau se si
        sunt te ti tu un una unde va""",
    "turkish": """ama bana ben benim bir biz bu bunu cok da daha de degil diye en gibi hem icin
        ile ise kadar ki kim mi mu nasil ne neden nerede o olan olarak oldu oldugu onlar onu onun
        sen siz su ve veya ya zaman""",
    "polish": """a ale bez bo by byc byl byla bylo ci co czy dla do gdy gdzie go i ich ile im ja
        jak jako je jego jej jest jestem juz kiedy kto ktora ktore ktory ma mam mi mnie na nad
        nie nim o od on ona one oni po pod przez przy sa sie sobie ta tak tam te tego ten to tu
        ty tylko w we wszystko z za ze""",
    "czech": """a aby ale ani az bude by byl byla bylo co dnes do ho i ja jak jako je jeho jej
        jejich jen jsem jsi jsme jsou k kde kdo kdy kdyz ktera ktere ktery ma mezi mi mne na nad
        ne nebo neni o od on ona oni po pod pro proto pri s se si ta tak take tam ten to tu ty
        u uz v ve vsak z za ze""",
    "catalan": """a al als amb aquest aquesta com de del dels des el ella ells els en entre era
        es esta ha han hi i jo la les li lo mes molt no nosaltres o on per pero perque que qui
        quan se sense ser seu seva si sobre son tambe te un una uns vaig""",
    "indonesian": """ada adalah agar akan aku anda apa atau bagi bahwa bisa dalam dan dapat dari
        dengan di dia hanya harus ini itu jika juga kami kamu karena ke kepada kita lebih mereka
        oleh pada saya sangat sebagai sudah telah tidak untuk yang""",
    "esperanto": """al ambau ankau antau car ce de do du ekde el en estas estis gi gis havas
        ili ja jes kaj ke kiam kie kiel kio kiu kun la li mi ne nek ni nun ol pri por post se
        sed si sur tamen tio tiu tre vi""",
    "russian": """а без бы был была были было быть в вам вас во вот все вы где да для до его ее
        если есть еще ж же за и из или им их к как ко когда кто ли меня мне мной мой моя мы на
        нас не него нее нет ни них но ну о об он она они от по под при с со так там то тот ты у
        уже чем что чтобы это этот я""",
    "serbian": """а али био била било бити да до за и из или им их ја је јер како кад када ко
        који која које ли ме ми на не није о од он она они па по са се си смо су та тај те то
        ће у што""",
    "greek": """αν απο για δε δεν ειναι εγω εκει ενα ενας η ηταν θα και κατα με μετα μια μου να ο οι
        οπως οτι ποιος που πρεπει πως σε στα στη στην στις στο στον στους τα τη την της τι τις το
        τον του τους των ως""",
    "arabic": """الذي التي الى ان او اي اين بعد بين تم ثم حتى حيث ذلك على عن عند غير فقط في قبل
        قد كان كانت كل كما كيف لا لكن لم لن ما متى مع من منذ نحن هذا هذه هل هم هناك هو هي و يا
        إلى أن أو أي أين""",
    "persian": """آن از است اما این با باید بر برای بود به تا چه در را شد شده شود که کرد کند ما
        من می نه ها هر هم هیچ و یا یک""",
    "hindi": """अपने और इस इसके उन उनके उस उसके एक ऐसे और कर करने कहा का कि किया की कुछ के को कोई
        क्या गया जब जो तक तो था थी थे दिया न नहीं ने पर फिर भी मैं में यह ये रहा लिए वह वे सकता साथ से हम
        हर ही हुआ हूँ है हैं हो""",
    "nepali": """अनि आफ्नो एक को का कि की गर्न छ छन् छैन त तथा तर थियो न नै पनि भने भएको म मा मात्र
        यस यो र रहेको लाई ले सँग हरू हो हुन""",
    "armenian": """այդ այլ այն այս դու դուք եմ են ես եք է էի էին էինք էիր էիք էր ըստ ի ին իսկ իր կամ
        համար հետ հետո մենք մեջ մի ն նա նաև նրա նրանք որ որը որոնք որպես ու ում պիտի վրա և""",
    "tamil": """அது அந்த அவர் அவர்கள் அவள் அவன் ஆனால் இது இந்த இருந்து உள்ள ஒரு என என்ற என்று எனது ஏன் கொண்டு தான்
        நான் நாம் பற்றி பின் மற்றும் மிக மேலும் யார் வேண்டும்""",
}

STOPWORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split()) for language, words in _LISTS.items()
}
"""Language, as snowballstemmer names it -> its function words."""

STOP_CHARACTERS = frozenset(
    "的了着吗呢吧啊嘛么之其而且与及是在和有我你他她它们这那就都也很不"
    "のはがをにでとへもやかなねよてだっ"
    "은는을를의에도와과로"
)
"""Particles of Chinese, Japanese and Korean: dropped as single characters, kept within bigrams."""
